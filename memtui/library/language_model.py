"""The optional language model: any server that speaks the chat API of OpenAI, Ollama included."""

from __future__ import annotations

from memtui.config import LanguageModel
from memtui.errors import ModelError, Refused
from memtui.json_server import JsonServer
from memtui.upkeep.model_requests import ModelRequest

SETTING = "review.model"


class ChatServer:
    """Sends one request at a time and returns the text of the answer."""

    def __init__(self, choice: LanguageModel) -> None:
        """Check the settings; nothing is sent yet. Raises Refused or ConfigError."""
        if not choice.model:
            raise Refused(
                "no language model is set",
                do=f'set [{SETTING.partition(".")[0]}] model = {{ model = "..." }} in config.toml',
            )
        self._model = choice.model
        self._server = JsonServer(
            choice.url,
            setting=SETTING,
            error=ModelError,
            time_limit=choice.seconds,
            key_variable=choice.key_variable,
        )

    @property
    def name(self) -> str:
        """Address and model, for the person who is asked whether to send."""
        return f"{self._model} at {self._server.url}"

    def complete(self, request: ModelRequest) -> str:
        """Return the model's answer. Raises ModelError."""
        messages = [
            {"role": "system", "content": request.order},
            {"role": "user", "content": request.text},
        ]
        value = {"model": self._model, "messages": messages, "temperature": 0, "stream": False}
        answer = self._server.post("/chat/completions", value)
        try:
            text = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            text = None
        if not isinstance(text, str):
            raise self._server.bad_answer("no message", "/chat/completions")
        return text
