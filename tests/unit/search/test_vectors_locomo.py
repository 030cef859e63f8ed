"""The LoCoMo benchmark reads the public file's shape; shown on one that was invented here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.bench import hybrid, locomo


def sample(name: str) -> dict[str, Any]:
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "The oven broke."}],
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I baked rye bread."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a loaf"},
            ],
        },
        "qa": [
            {"question": "What bread did Ada bake?", "evidence": ["D1:1"], "category": 4},
            {"question": "Which pictures?", "evidence": ["D1:2; D2:1"], "category": 1},
            {"question": "What never was?", "evidence": [], "category": 5},
            {"question": "What of elsewhere?", "evidence": ["D9:9"], "category": 5},
        ],
    }


def test_turns_in_order_and_questions_with_their_evidence() -> None:
    samples = [sample("conv-26"), sample("conv-41")]
    memories = list(locomo.turns(samples))
    assert [memory.content for memory in memories[:3]] == [
        "Ada: I baked rye bread.",
        "Ben: Look! [image: a loaf]",
        "Ada: The oven broke.",
    ]
    first = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [memory.created for memory in memories[:3]] == [first, first, None]
    slots = {memory.id: slot for slot, memory in enumerate(memories)}
    asked = list(locomo.questions(samples, slots))
    assert [(one.sample, set(one.evidence), one.category) for one in asked] == [
        ("conv-26", {0}, 4),
        ("conv-26", {1, 2}, 1),
        ("conv-41", {3}, 4),
        ("conv-41", {4, 5}, 1),
    ]


def test_the_table_keeps_tuning_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps([sample("conv-26"), sample("conv-41")]))
    monkeypatch.setattr("sys.argv", ["locomo", str(file), "--variants"])
    monkeypatch.setattr(hybrid, "model", lambda: None)
    locomo.main()
    printed = capsys.readouterr().out
    assert "6 turns; 2 questions to tune on, 2 reported" in printed
    assert "without date" in printed
    assert "category 4" in printed
    assert "categories 1 to 4" in printed
    assert "Chosen on conv-26 and conv-30" in printed
    assert "no vectors" in printed
