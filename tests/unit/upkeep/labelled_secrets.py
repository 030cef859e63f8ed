"""Invented secrets, each in a line as an agent would store it, made anew from a fixed seed.

They are put together here so that no scanner of repositories takes them for real ones. These are
examples that the rules were written with. The measured set `labelled/secrets_*.tsv` was written by
another hand that never saw a rule; half of it is for tuning, the other half is only counted.
"""

from __future__ import annotations

import base64
import codecs
import json
import random
import string
from pathlib import Path

HEX = "0123456789abcdef"
WORD = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
URL = WORD + "-_"

HERE = Path(__file__).parent
HONEST = (HERE / "lines_without_secrets.txt").read_text("utf-8").split("\n")[:-1]
TUNING, REPORTED = "tuning", "reported"


def measured_lines(half: str) -> list[tuple[bool, str, str]]:
    """(is a secret, kind, line) of a half of the measured set, `tuning` or `reported`.

    The files hold each line reversed and shifted by thirteen letters.
    """
    rows = [
        row.split("\t")
        for row in (HERE / f"labelled/secrets_{half}.tsv").read_text("utf-8").split("\n")[:-1]
    ]
    return [
        (label == "secret", kind, json.loads(codecs.decode(coded, "rot13")[::-1]))
        for label, kind, coded in rows
    ]


def secrets() -> list[tuple[str, str, str]]:
    """(what it is, the secret, the line it stands in), of the examples."""
    return [*_first(), *_second()]


def _first() -> list[tuple[str, str, str]]:
    """(what it is, the secret, the line it stands in)."""
    rng = random.Random(20261121)

    def some(count: int, letters: str = WORD) -> str:
        return "".join(rng.choices(letters, k=count))

    def jwt() -> str:
        parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": some(8), "iat": 1795119600})
        coded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode() for p in parts]
        return ".".join([*(part.rstrip("=") for part in coded), some(43, URL)])

    def uuid() -> str:
        return "-".join(some(n, HEX) for n in (8, 4, 4, 4, 12))

    made = [
        ("AWS access key", "AKIA" + some(16, UPPER), "The nightly job uses {}."),
        ("AWS access key", "ASIA" + some(16, UPPER), "export AWS_ACCESS_KEY_ID={}"),
        ("AWS secret key", some(40, WORD + "/+"), "aws_secret_access_key = {}"),
        ("AWS secret key", some(40, WORD + "/+"), 'AWS_SECRET_ACCESS_KEY="{}"'),
        ("GitHub token", "ghp_" + some(36), "Dora's token for the mirror is {}"),
        ("GitHub token", "gho_" + some(36), "git clone https://{}@github.com/quarterbell/tide.git"),
        ("GitHub token", "github_pat_" + some(22) + "_" + some(59), "GH_TOKEN={}"),
        ("GitLab token", "glpat-" + some(20, URL), "PRIVATE-TOKEN: {}"),
        ("GitLab token", "glrt-" + some(20, URL), "register the runner with {}"),
        ("Slack token", f"xoxb-{some(12, '0123456789')}-{some(24)}", "the bot logs in as {}"),
        ("Slack token", f"xapp-1-{some(11, UPPER)}-{some(13, '123456789')}-{some(64, HEX)}", "{}"),
        (
            "Slack webhook",
            f"https://hooks.slack.com/services/T{some(8, UPPER)}/B{some(8, UPPER)}/{some(24)}",
            "post alarms to {}",
        ),
        (
            "Discord webhook",
            f"https://discord.com/api/webhooks/{some(18, '123456789')}/{some(68, URL)}",
            "the crew hears of it through {}",
        ),
        ("Stripe key", "sk_live_" + some(24), "Stripe (live): {}"),
        ("Stripe key", "rk_live_" + some(24), "restricted one for refunds: {}"),
        ("Stripe webhook key", "whsec_" + some(32), "the endpoint checks {}"),
        ("OpenAI key", f"sk-{some(20)}T3BlbkFJ{some(20)}", "old OpenAI key {} still works"),
        ("OpenAI key", "sk-proj-" + some(48, URL), "OPENAI_API_KEY={}"),
        ("OpenAI key", "sk-svcacct-" + some(60, URL), "the worker has its own: {}"),
        ("Anthropic key", "sk-ant-api03-" + some(93, URL) + "AA", "ANTHROPIC_API_KEY='{}'"),
        ("Anthropic key", "sk-ant-admin01-" + some(80, URL), "for the usage report: {}"),
        ("OpenRouter key", "sk-or-v1-" + some(64, HEX), "routed with {}"),
        ("Groq key", "gsk_" + some(52), "groq: {}"),
        ("Google key", "AIza" + some(35, URL), "maps are loaded with {}"),
        ("Google key", "AIza" + some(35, URL), "https://maps.example/js?key={}&v=3"),
        ("Google OAuth secret", "GOCSPX-" + some(28, URL), '"client_secret":"{}"'),
        ("Google OAuth token", "ya29." + some(80, URL), "she pasted {} into the chat"),
        ("npm token", "npm_" + some(36), "//registry.npmjs.org/:_authToken={}"),
        ("PyPI token", "pypi-AgEIcHlwaS5vcmc" + some(80, URL), "twine upload -p {}"),
        ("Docker token", "dckr_pat_" + some(27, URL), "docker login with {}"),
        ("Hugging Face token", "hf_" + some(34, string.ascii_letters), "HF: {}"),
        ("SendGrid key", f"SG.{some(22, URL)}.{some(43, URL)}", "mail goes out with {}"),
        ("Twilio key", "SK" + some(32, HEX), "twilio {} is for the pager"),
        ("DigitalOcean token", "dop_v1_" + some(64, HEX), "doctl auth init -t {}"),
        ("Azure storage key", "AccountKey=" + some(86) + "==", "AccountName=qb;{};Endpoint=x"),
        ("Azure client secret", some(3) + "8Q~" + some(34), "app registration: {}"),
        ("Telegram bot token", some(10, "123456789") + ":AA" + some(33, URL), "bot {}"),
        ("Shopify token", "shpat_" + some(32, HEX), "shop admin {}"),
        ("Linear key", "lin_api_" + some(40), "linear: {}"),
        ("Notion token", "ntn_" + some(46), "notion integration {}"),
        ("Airtable token", f"pat{some(14)}.{some(64, HEX)}", "the base is read with {}"),
        ("Atlassian token", "ATATT3xFfGF0" + some(120, URL) + "=" + some(8, UPPER), "jira: {}"),
        ("Figma token", "figd_" + some(40, URL), "figma {}"),
        ("Grafana token", f"glsa_{some(32)}_{some(8, HEX)}", "dashboards are pushed with {}"),
        ("New Relic key", "NRAK-" + some(27, UPPER), "newrelic {}"),
        ("Vault token", "hvs." + some(90, URL), "vault login {}"),
        ("Terraform token", f"{some(14)}.atlasv1.{some(67)}", "tfc {}"),
        ("age key", "AGE-SECRET-KEY-1" + some(58, UPPER), "{}"),
        ("JSON web token", jwt(), "curl -H 'Authorization: Bearer {}' https://api.example/v1"),
        ("JSON web token", jwt(), "the session was {}"),
        ("private key", "-----BEGIN OPENSSH PRIVATE KEY-----", "{}\nb3BlbnNzaC1rZXktdjEAAAAA"),
        ("private key", "-----BEGIN RSA PRIVATE KEY-----", "{}\nMIIEpAIBAAKCAQEA"),
        ("private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----", "{}"),
        ("private key", "-----BEGIN ENCRYPTED PRIVATE KEY-----", "it starts with {}"),
        ("password in a URL", some(14), "postgres://tide:{}@db.quarterbell.example:5432/tide"),
        ("password in a URL", "s3a-lion-" + some(4), "redis://:{}@cache.internal:6379/0"),
        ("password in a URL", some(18), "mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/prod"),
        ("password in a URL", "kelp" + some(6), "https://dora:{}@nexus.quarterbell.example/repo"),
        ("authorization header", some(40), 'curl -H "Authorization: Bearer {}" https://x.example'),
        ("authorization header", some(24) + "==", "Authorization: Basic {}"),
        ("password", "Winter2026!kelp", "The Wi-Fi password is {}"),
        ("password", "tr0ub4dor&3", "password: {}"),
        ("password", "Hamb0rg-Hafen", "PGPASSWORD={} psql -h db"),
        ("password", "h4rbour$eal", 'db_password="{}"'),
        ("password", some(32, HEX), "api_key: {}"),
        ("password", some(28), "client_secret = '{}'"),
        ("password", uuid(), "HEROKU_API_KEY={}"),
        ("password", "low water bare sand", 'passphrase: "{}"'),
        ("password", some(20), '{{"user": "tide", "password": "{}"}}'),
        ("password", "9Kelp+Tang7", "Root-Passwort geändert, password := {}"),
    ]
    return [(what, secret, line.format(secret)) for what, secret, line in made]


def _second() -> list[tuple[str, str, str]]:
    """As `_first`, without saying what it is."""
    rng = random.Random(20261122)

    def some(count: int, letters: str = WORD) -> str:
        return "".join(rng.choices(letters, k=count))

    made = [
        ("AKIA" + some(16, UPPER), "Backups of the tower go to S3 as {} (rotate in May)"),
        ("ghp_" + some(36), "git remote set-url origin https://x-access-token:{}@github.com/q/t"),
        ("ghs_" + some(36), "CI printed {} in the log of run 812"),
        ("glpat-" + some(20, URL), "Runner registration used {}; ask Bo before reuse"),
        (f"xoxp-{some(12, '0123456789')}-{some(32, HEX)}", "SLACK={}"),
        ("sk_live_" + some(24), "refunds need {} until the vault is back"),
        ("sk-ant-api03-" + some(80, URL), "ANTHROPIC_API_KEY={} in the .zshrc of the build host"),
        ("sk-proj-" + some(60, URL), "the notebook still has openai.api_key = '{}'"),
        ("AIza" + some(35, WORD), "maps widget: {}"),
        ("npm_" + some(36), "//registry.npmjs.org/:_authToken={}"),
        ("hf_" + some(34), "huggingface-cli login --token {}"),
        ("dckr_pat_" + some(27), "docker login -u quarterbell -p {}"),
        ("SG." + some(22) + "." + some(43), "smtp pass for alarms {}"),
        ("hvs." + some(28), "VAULT_TOKEN={} vault kv get tower/keys"),
        (some(16), "jdbc:postgresql://bell:{}@db.quarterbell.example/ring"),
        (some(40), "export TWILIO_AUTH_TOKEN={}"),
        ("Turm-Glocke-88", "Passwort: {}"),
        ("kelp7Lantern", "contraseña: {}"),
        (some(24), 'DATABASE_PASSWORD: "{}"'),
        (some(32, HEX), "X-Api-Key: {}"),
        (some(30), "login with user marit and password {}"),
        ("pl4inTalk!", "mot de passe = {}"),
        ("ASIA" + some(16, UPPER), "session of the drill: {} until noon"),
        (some(40, WORD + "/+"), "secretAccessKey: '{}',"),
        ("gho_" + some(36), "gh auth printed {}"),
        ("github_pat_" + some(22) + "_" + some(59), "Marit's fine-grained one is {}, reads only"),
        ("glpat-" + some(20, URL), "git clone https://oauth2:{}@gitlab.example/q/tower.git"),
        (f"xoxb-{some(12, '0123456789')}-{some(24)}", '"slack": "{}"'),
        ("rk_live_" + some(24), "the restricted key {} can only refund"),
        ("whsec_" + some(32), "STRIPE_WEBHOOK={}"),
        ("sk-ant-admin01-" + some(80, URL), "usage report runs with {}"),
        ("sk-or-v1-" + some(64, HEX), "router: {}"),
        ("gsk_" + some(52), "export GROQ={}"),
        ("xai-" + some(80), "grok key {}"),
        ("r8_" + some(37), "replicate {} for the poster"),
        ("pplx-" + some(48), "PPLX={}"),
        ("GOCSPX-" + some(28, URL), "client secret of the calendar: {}"),
        ("ya29." + some(60, URL), "curl -H 'Authorization: Bearer {}'"),
        ("pypi-AgEIcHlwaS5vcmc" + some(70, URL), "TWINE_PASSWORD={}"),
        ("rubygems_" + some(48, HEX), "~/.gem/credentials has {}"),
        ("cio" + some(32), "cargo login {}"),
        ("SK" + some(32, HEX), "twilio sid {}"),
        ("dop_v1_" + some(64, HEX), "droplets are made with {}"),
        ("nfp_" + some(36), "netlify deploy --auth {}"),
        ("sbp_" + some(40, HEX), "supabase login --token {}"),
        ("AccountKey=" + some(86) + "==", "the poster store: {}"),
        (some(10, "123456789") + ":AA" + some(33, URL), "TELEGRAM={}"),
        ("shpat_" + some(32, HEX), "webshop {}"),
        ("key-" + some(32, HEX), "mailgun {}"),
        (some(32, HEX) + "-us12", "newsletter key {}"),
        ("dapi" + some(32, HEX), "notebook token {}"),
        ("lin_api_" + some(40), "LINEAR={}"),
        ("ntn_" + some(46), "wiki bot {}"),
        ("ATATT3xFfGF0" + some(120, URL) + "=" + some(8, UPPER), "tickets: {}"),
        ("figd_" + some(40, URL), "drawings: {}"),
        (f"glsa_{some(32)}_{some(8, HEX)}", "grafana {}"),
        ("NRAK-" + some(27, UPPER), "apm {}"),
        ("PMAK-" + some(24, HEX) + "-" + some(34, HEX), "postman {}"),
        ("dp.st." + some(44), "doppler run --token {}"),
        ("AGE-SECRET-KEY-1" + some(58, UPPER), "# age\n{}"),
        (some(64, HEX), "session_secret = {}"),
        (some(20), "redis-cli -a {}"),
        (some(22), "sshpass -p {} ssh root@tower"),
        ("Ring-the-13th", "Wifi im Turm: SSID glocke, Schlüssel {}"),
        (some(18), "curl -u marit:{} https://nexus.example"),
        (some(26), 'smtp = smtplib.login("bell", "{}")'),
        ("zwoelf!Uhr9", "The PIN of the safe is with Yael, the password of the NAS is {}"),
        (some(32), "mysql -ubell -p{} ring"),
        (some(16), "BasicAuth bell:{}"),
        (some(43, URL) + "=", "FERNET_KEY={}"),
    ]
    return [("", secret, line.format(secret)) for secret, line in made]
