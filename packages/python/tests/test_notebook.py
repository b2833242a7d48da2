"""Use without await: inside a running loop, with a view of the result, and with a progress bar."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys

import pytest
from conftest import Stage, wait_until

import longhaul
from longhaul._decode import decode


def test_sync_calls_work_with_and_without_a_running_loop(stage: Stage) -> None:
    stage.answer_at_once()
    assert longhaul.sync.run("p", **stage.options).success

    async def cell() -> bool:
        return longhaul.sync.run("p", **stage.options).success

    assert asyncio.run(cell())
    assert len(longhaul.sync.runs().runs) == 2
    with pytest.raises(longhaul.LonghaulError):
        longhaul.sync.show("nope")
    with pytest.raises(TypeError):
        longhaul.sync.cost(nope=1)  # type: ignore[call-arg]


def test_a_sync_stream_ends_with_the_result_and_can_be_left(stage: Stage) -> None:
    api = stage.play("test -e started || { touch started; sleep 300; }")
    for event in longhaul.sync.stream("p", **stage.options):
        if isinstance(event, longhaul.RawEvent) and event.type == "assistant":
            wait_until((stage.work / "started").exists)
            break
    wait_until(lambda: not stage.processes())
    assert longhaul.sync.show().outcome == "cancelled"
    *_, last = longhaul.sync.stream("p", **stage.options)
    assert getattr(last, "type", None) == "result"
    api.close()


def test_ctrl_c_cancels_the_run(stage: Stage) -> None:
    api = stage.play("touch started; sleep 300")
    script = (
        "import longhaul.sync, signal, sys\n"
        # Programs in the background of a script ignore SIGINT, and their children, too.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try: longhaul.sync.run('p', cwd=sys.argv[1], agent_path=sys.argv[2],"
        " permission_mode='bypassPermissions')\n"
        "except KeyboardInterrupt: sys.exit(9)\n"
    )
    program = subprocess.Popen([sys.executable, "-c", script, stage.work, stage.agent])
    wait_until((stage.work / "started").exists)
    os.kill(program.pid, signal.SIGINT)
    assert program.wait() == 9
    api.close()
    assert longhaul.sync.show().outcome == "cancelled"
    assert stage.processes() == []


def test_a_result_is_shown_escaped(stage: Stage) -> None:
    api = stage.play(answer="<script>alert('x')</script> & done")
    result = longhaul.sync.run("p", **stage.options)
    api.close()
    html = result._repr_html_()
    shown = longhaul.sync.show()._repr_html_()
    assert "<td style='text-align:left;white-space:pre-wrap'>done</td>" in shown
    assert str(result.id) in shown
    assert "<script>" not in html
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; done" in html
    assert str(result.id) in html
    assert html.startswith("<table>")


def test_a_long_result_is_cut_in_the_view(stage: Stage) -> None:
    api = stage.play(answer="x" * 5000)
    result = longhaul.sync.run("p", **stage.options)
    api.close()
    assert len(str(result.result)) == 5000
    assert "x" * 2000 + "…" in result._repr_html_()


def test_a_progress_bar_counts_decisions(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    stage.answer_at_once()
    assert longhaul.sync.run("p", progress=True, **stage.options).success
    assert "run finished" in capsys.readouterr().err


def test_a_progress_bar_needs_tqdm(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        longhaul.sync.run("p", progress=True, **stage.options)
    assert longhaul.sync.runs().runs == []


def test_models_tolerate_other_versions(stage: Stage) -> None:
    stage.answer_at_once()
    result = longhaul.sync.run("p", **stage.options)
    value = dataclasses.asdict(result)
    value["new"] = 1
    value["run"]["also_new"] = {"a": 1}
    del value["run"]["downtime_ms"]
    decoded = decode(longhaul.RunResult, value)
    assert decoded.run.id == result.id
    assert decoded.run.downtime_ms is None
