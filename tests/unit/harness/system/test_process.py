"""The one door to external programs: real processes, ended with all their children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import EnvironmentLacks, TestbedFailed
from harness.system.process import Worker, conversing, running
from harness.system.processtree import family, stopped
from harness.system.program import Command, find_program, run


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().split()[2] != "Z"


def python(code: str) -> Command:
    return Command.of(sys.executable, "-c", code)


def test_run_returns_what_was_printed() -> None:
    assert run(python("print(6 * 7)")) == "42\n"
    assert run(python("import sys; print(sys.stdin.read().upper())"), stdin="ab") == "AB\n"


def test_failure_shows_the_last_words() -> None:
    with pytest.raises(TestbedFailed, match=r"exit code 3: .*no luck"):
        run(python("import sys; print('no luck', file=sys.stderr); sys.exit(3)"))


def test_missing_program_is_named() -> None:
    with pytest.raises(EnvironmentLacks, match="no-such-program-here"):
        find_program("no-such-program-here")


def test_a_damaged_program_is_named(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"\x7fELF cut short")
    damaged.chmod(0o755)
    with pytest.raises(TestbedFailed, match=r"cannot start .*/damaged: .*Exec format error"):
        run(Command.of(damaged))


def test_background_process_is_ready_before_and_gone_after_the_block(tmp_path: Path) -> None:
    flag = tmp_path / "ready"
    code = f"import time, pathlib; time.sleep(0.1); pathlib.Path({str(flag)!r}).touch(); time.sleep(60)"
    with running(python(code), tmp_path / "log", ready=flag.exists) as process:
        assert flag.exists()
        assert process.alive
        pid = process.pid
    assert family(pid) == []


def test_children_of_a_background_process_go_with_it(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    code = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(pids)!r}).write_text(str(child.pid)); time.sleep(60)"
    )
    with running(python(code), tmp_path / "log", ready=lambda: pids.exists() and bool(pids.read_text())):
        child = int(pids.read_text())
        assert family(child)
    while _runs(child):  # it was sent KILL; a test that hangs here says that it was not
        time.sleep(0.01)


def test_death_before_ready_shows_the_log(tmp_path: Path) -> None:
    code = "import sys; print('port 80 is taken'); sys.exit(1)"
    with (
        pytest.raises(TestbedFailed, match="port 80 is taken"),
        running(python(code), tmp_path / "log", ready=lambda: False),
    ):
        pass


def test_stubborn_process_is_killed(tmp_path: Path) -> None:
    flag = tmp_path / "ready"
    code = (
        "import signal, time, pathlib; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"pathlib.Path({str(flag)!r}).touch(); time.sleep(60)"
    )
    with running(python(code), tmp_path / "log", ready=flag.exists) as process:
        assert process.end(grace_s=0.1) == -9


def test_a_stopped_process_is_named_and_ends_as_any_other(tmp_path: Path) -> None:
    """It has a minute for the signal, and needs none of it."""
    with running(python("import time; time.sleep(600)"), tmp_path / "log") as process:
        process.signal(signal.SIGSTOP)
        while not stopped(process.pid):
            time.sleep(0.001)
        with pytest.raises(TestbedFailed, match="is stopped"):
            process.check_running()
        before = time.monotonic()
        assert process.end(grace_s=60) == -signal.SIGTERM
        assert time.monotonic() < before + 30


def test_a_process_can_die_with_its_parent(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    asleep = (
        f"import os, pathlib, time; pathlib.Path({str(pids)!r}).write_text(str(os.getpid())); time.sleep(60)"
    )
    code = (
        "import pathlib, time\nfrom harness.system.program import Command\nfrom harness.system.process import running\n"
        f"asleep = Command.of({sys.executable!r}, '-c', {asleep!r}).dying_with_us()\n"
        f"with running(asleep, pathlib.Path({str(tmp_path / 'log')!r})): time.sleep(60)"
    )
    with running(
        python(code), tmp_path / "parent.log", ready=lambda: pids.exists() and bool(pids.read_text())
    ) as parent:
        child = int(pids.read_text())
        assert _runs(child)
        parent.kill()
    while _runs(child):  # a test that hangs here says that it lives on
        time.sleep(0.01)


def test_command_knows_its_host_and_user() -> None:
    command = Command.of("ip", "addr").on(Path("/run/netns/x")).as_ordinary_user()
    assert command.full_argv[:2] == ("nsenter", "--net=/run/netns/x")
    assert "--map-user=1000" in command.full_argv
    assert command.full_argv[-2:] == ("ip", "addr")
    assert command.on_cpus([0, 3]).full_argv[-5:] == ("taskset", "--cpu-list", "0,3", "ip", "addr")
    assert os.environ.get("NOT_SET_HERE") is None
    assert (
        run(python("import os; print(os.environ['NOT_SET_HERE'])").with_environment(NOT_SET_HERE="1"))
        == "1\n"
    )


def test_a_command_may_have_as_many_descriptors_as_the_hard_limit_says() -> None:
    code = (
        "from resource import RLIMIT_NOFILE, getrlimit, setrlimit\nfrom harness.system.program import Command, run\n"
        "setrlimit(RLIMIT_NOFILE, (256, getrlimit(RLIMIT_NOFILE)[1]))\n"
        "soft, hard = (Command.of('sh', '-c', f'ulimit -{kind}n') for kind in 'SH')\n"
        "print(run(soft).strip(), run(soft.with_all_descriptors()) == run(hard))"
    )
    assert run(python(code)) == "256 True\n"


ECHO = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"


def test_a_conversation_goes_line_by_line_and_ends_with_the_block(tmp_path: Path) -> None:
    with conversing(python(ECHO), tmp_path / "log") as process:
        assert [process.ask(word, 30) for word in ("one", "two")] == ["ONE", "TWO"]
        pid = process.pid
    assert not _runs(pid)


def test_a_conversation_with_the_silent_and_the_dead(tmp_path: Path) -> None:
    silent, dead = "import time; time.sleep(60)", "import sys; sys.exit('no luck')"
    with (
        conversing(python(silent), tmp_path / "log") as process,
        pytest.raises(TimeoutError, match="said nothing for"),
    ):
        process.ask("hello", 0.01)
    with conversing(python(dead), tmp_path / "log") as process, pytest.raises(EOFError, match="no luck"):
        process.hear(30)


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("pass", None),
        ("import sys; sys.exit('no luck')", r"died \(exit code 1\): no luck"),
        ("import time; time.sleep(1000)", "goes on though its time is over"),
    ],
)
def test_whether_it_ended_well(code: str, complaint: str | None, tmp_path: Path) -> None:
    with running(python(code), tmp_path / "log") as process:
        if complaint is None or "died" in complaint:
            assert process.ends_within(60)
        if complaint is None:
            process.check_ended_well()
        else:
            with pytest.raises(TestbedFailed, match=complaint):
                process.check_ended_well()


def test_a_process_that_has_ended_is_not_stopped(tmp_path: Path) -> None:
    """Between two looks it may end by itself, which is no fault."""
    with running(Command.of("true"), tmp_path / "log") as process:
        assert process.ends_within(10)
        process.check_not_stopped()
        process.check_ended_well()


def test_a_worker_that_does_not_start_is_named() -> None:
    with pytest.raises(EnvironmentLacks, match=r"the helper does not start \(exit code 1, see above\)"):
        Worker("the helper", "harness.no_such_module").ask("anything")


# In a process namespace of its own, where the number of the next process can be chosen. A foreign process is to get
# the number of ours: it cannot as long as ours was not ended, and nothing is sent to it afterwards.
TAKEN_NUMBER = """
import subprocess, sys
from pathlib import Path
from harness.system.process import running
from harness.system.program import Command

def foreign(number):
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
    return subprocess.Popen(["sleep", "600"], start_new_session=True)

with running(Command.of("true"), Path(sys.argv[1])) as process:
    while process.alive:
        pass
    early = foreign(process.pid)
    process.end()
    late = foreign(process.pid)
    process.kill()
    process.signal(9)
    process.end()
print(early.pid != process.pid, late.pid == process.pid, early.poll(), late.poll())
early.kill()
late.kill()
early.wait()
late.wait()
"""
NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def test_no_signal_goes_to_who_has_the_number_of_a_process_that_ended(tmp_path: Path) -> None:
    choosing = "echo 100 > /proc/sys/kernel/ns_last_pid"
    if subprocess.run([*NAMESPACE, "sh", "-c", choosing], capture_output=True, check=False).returncode:
        pytest.skip("this user, or this kernel, cannot choose the number of the next process")
    words = [*NAMESPACE, sys.executable, "-c", TAKEN_NUMBER, str(tmp_path / "log")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True None None\n", "")


def test_what_a_process_left_behind_goes_though_it_ended_by_itself(tmp_path: Path) -> None:
    """Its number stays that of its group until then, whoever looked at it."""
    left = tmp_path / "pid"
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(left)!r}).write_text(str(child.pid)); sys.exit(3)"
    )
    with running(python(code), tmp_path / "log") as process:
        assert process.ends_within(60)
        assert process.ending == "exit code 3"
        assert Path(f"/proc/{process.pid}").exists()
        child = int(left.read_text())
        assert _runs(child)
        assert process.end() == 3
        assert not Path(f"/proc/{process.pid}").exists()
        assert process.ending == "exit code 3"
    while _runs(child):  # it was sent KILL; a test that hangs here says that it was not
        time.sleep(0.01)
