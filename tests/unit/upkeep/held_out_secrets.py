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
