"""Lines with and without invented secrets that the rules were never tuned on; made from a seed."""

from __future__ import annotations

import random

from .labelled_secrets import HEX, UPPER, URL, WORD


def secrets() -> list[tuple[str, str]]:
    """(the secret, the line it stands in)."""
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
    return [(secret, line.format(secret)) for secret, line in made]


HONEST = [
    "The password policy asks for twelve letters since March.",
    "Tokens are renewed by the gateway every 24 hours.",
    "PASSWORD_FILE=/run/secrets/db_password",
    "the digest is sha256:9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab",
    "commit 1f0c3a7d9b2e4c6a8e0f1234abcd5678ef901234 fixed the coil heat",
    "api_key: <your key here>",
    "export GITHUB_TOKEN=$(pass show github)",
    "password = os.environ['DB_PASSWORD']",
    "The secret of good tides is patience.",
    "Set client_secret in the console, then restart.",
    "uuid 4b5b7c1e-2f0a-4b0e-9a55-3f6d8a1c2e4b was retried twice",
    "password: changeme",
    "token: ${CI_JOB_TOKEN}",
    "AKIAIOSFODNN7EXAMPLE is the key in the documentation",
    "Bearer tokens are sent in the Authorization header.",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8k3l2m1n0p9q8r7s6t5u4v3w2x1y0z9A8B7C6D5E4F bell@host",
    "The access key to the tower hangs behind the door.",
    "integrity sha512-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC==",
    "Mot de passe oublié: le lien est valable une heure.",
    "Passwort-Manager der Firma ist Bitwarden.",
]
