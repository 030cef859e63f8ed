"""Phrases of planted instructions in German, Japanese, Spanish, French, Portuguese and Chinese.

Each language has the same four kinds, as imperative verbs with their objects: to act in secret, to
take a new role, to forget the rules, to send secrets away. Tuned on the lines marked `tuning` in
`tests/unit/upkeep/instructions_by_language.tsv` only.
"""

from __future__ import annotations

_ADDRESS = r"(?:https?://|[\w.+-]+@[\w-]+\.)"

SECRECY = (
    # German
    r"\b(?:erzähl|sag|verrat|melde?|zeig)\w*\b[^.\n]{0,25}\b(?:be)?nutzer\w*[^.\n]{0,20}\b(?:nichts|nie)\b",
    r"\b(?:führ|mach|tu|handle|änder|lösch|send|schreib)\w*\b[^.\n]{0,40}\b(?:heimlich|im geheimen|unbemerkt)\b",  # noqa: E501
    r"\bohne (?:dass )?(?:de[nrm]|die)? ?(?:be)?nutzer\w*[^.\n]{0,25}\b(?:fragen|informieren|bemerk\w*|erfähr\w*)",  # noqa: E501
    # Spanish
    r"\bno (?:se )?l[eo] (?:digas|cuentes|menciones|informes|reveles)\b[^.\n]{0,30}\b(?:usuario|persona)",  # noqa: E501
    r"\b(?:haz(?:lo)?|actúa|ejecuta\w*|cambia\w*|borra\w*)\b[^.\n]{0,30}\b(?:en secreto|a escondidas)\b",  # noqa: E501
    r"\bsin (?:avisar|informar|decir\w*)\b[^.\n]{0,12}\b(?:al usuario|a nadie)\b",
    # French
    r"\bn(?:e |')(?:le |lui |en )?(?:dis|parle|révèle|mentionne|signale)\b[^.\n]{0,30}\b(?:utilisateur|personne)",  # noqa: E501
    r"\b(?:agis|fais(?:-le)?|exécute|modifie|supprime)\b[^.\n]{0,30}\b(?:en secret|en cachette|discrètement)\b",  # noqa: E501
    r"\bsans (?:prévenir|informer|avertir)\b[^.\n]{0,12}\b(?:l'utilisateur|personne)\b",
    # Portuguese
    r"\bnão (?:conte|diga|mencione|revele|informe)\b[^.\n]{0,30}\b(?:usuário|utilizador|pessoa)",
    r"\b(?:faça|aja|execute|altere|apague)\b[^.\n]{0,30}\b(?:em segredo|às escondidas)\b",
    r"\bsem (?:avisar|informar|dizer)\b[^.\n]{0,12}\b(?:o usuário|ao usuário|ninguém)\b",
    # Japanese, Chinese
    r"(?:ユーザー|利用者|人間)に(?:は)?[^。\n]{0,10}(?:知らせ|言わ|伝え|報告せ|見せ)(?:ず|ないで|るな)",
    r"(?:秘密裏に|こっそり|内緒で)[^。\n]{0,30}(?:こと|ください|せよ|しろ|なさい)",
    r"(?:不要|别|勿)(?:让|告诉|通知|提醒)[^。\n]{0,6}(?:用户|任何人)|(?:瞒着|背着)用户",
    r"(?:悄悄|偷偷|秘密)地?[^。\n]{0,6}(?:执行|修改|删除|发送|添加)",
)
NEW_ROLE = (
    r"\b(?:ab (?:sofort|jetzt)|von nun an|jetzt)\b[^.\n]{0,10}\bbist du\b",
    r"\b(?:a partir de ahora|desde ahora|ahora) (?:tú )?eres\b|\bactúa como (?:un |una |si )?(?:root|admin)",  # noqa: E501
    r"\b(?:désormais|à partir de maintenant|dorénavant),? tu es\b|\bagis comme (?:un |si )?(?:root|admin)",  # noqa: E501
    r"\b(?:a partir de agora|agora|de agora em diante),? (?:você|tu) (?:é|és)\b"
    r"|\baja como (?:um |se )?(?:root|admin)",
    r"あなたは(?:今から|これから|今後)|(?:今から|これから|これ以降)[^。\n]{0,20}として(?:振る舞|行動)",
    r"(?:从现在起|从现在开始|今后)[，,]?\s*你(?:就)?是|(?:请|你要|你)?扮演",
)
FORGOTTEN_RULES = (
    r"\b(?:vergiss|ignorier|missacht|verwirf)\w*\b(?! nicht)[^.\n]{0,25}"
    r"\b(?:alle|vorherig|bisherig|früher)\w*[^.\n]{0,20}(?:anweisung|regel|vorgabe|richtlinie)",
    r"\b(?:olvida|ignora|descarta)\b[^.\n]{0,20}\b(?:reglas|instrucciones|normas|indicaciones)\b",
    r"\b(?:oublie|ignore|écarte)[sz]?\b[^.\n]{0,20}\b(?:règles|instructions|consignes)\b",
    r"\b(?:esqueça|ignore|desconsidere|descarte)\b[^.\n]{0,20}\b(?:regras|instruções|orientações|normas)\b",
    r"(?:これまで|以前|今まで|前)の[^。\n]{0,6}(?:規則|指示|命令|ルール)[^。\n]{0,8}(?:忘れ|無視|破棄)",
    r"(?:忘记|忘掉|忽略|无视|抛弃)[^。\n]{0,10}(?:规则|指令|指示|要求)",
)
SENT_AWAY = (
    rf"\b(?:schick|send|leit|mail|lad|übermittl)\w*\b[^\n]{{0,40}}"
    rf"(?:passw|zugangsdat|schlüssel|token|geheim)[^\n]{{0,40}}{_ADDRESS}",
    rf"\b(?:envía|reenvía|manda|sube|copia)\b[^\n]{{0,40}}"
    rf"(?:contraseñ|credencial|clave|token|secreto)[^\n]{{0,40}}{_ADDRESS}",
    rf"\b(?:envoie|transfère|transmets|télécharge|copie)\b[^\n]{{0,40}}"
    rf"(?:mots? de passe|identifiant|clé|jeton|secret)[^\n]{{0,40}}{_ADDRESS}",
    rf"\b(?:envie|encaminhe|mande|copie)\b[^\n]{{0,40}}"
    rf"(?:senha|credencia|chave|token|segredo)[^\n]{{0,40}}{_ADDRESS}",
    rf"(?:パスワード|認証情報|秘密|鍵|トークン)[^。\n]{{0,10}}{_ADDRESS}\S*\s*(?:に|へ)(?:送|転送)",
    rf"(?:密码|凭据|密钥|令牌)[^。\n]{{0,8}}(?:发送|转发|上传|寄)[^。\n]{{0,6}}{_ADDRESS}",
)
PHRASES = {
    "asks for secrecy": SECRECY,
    "speaks to the agent": NEW_ROLE,
    "sets aside earlier instructions": FORGOTTEN_RULES,
    "carries something away": SENT_AWAY,
}
"""Reason, as in `memtui.upkeep.instructions` -> phrases."""
