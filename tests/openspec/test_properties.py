"""What holds for every tree, not only for those somebody thought of."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings
from mcp_host_openspec.errors import InvalidYamlError, MergeError
from mcp_host_openspec.model.delta import DeltaDocument
from mcp_host_openspec.model.requirements import fold, requirement_name
from mcp_host_openspec.model.spec import SpecDocument
from mcp_host_openspec.model.text import fence_mask
from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.service.archive_plan import Options
from mcp_host_openspec.service.merge import merge
from mcp_host_openspec.storage import plain_yaml, yaml12

ROUNDS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

words = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8)
names = (
    st.lists(words, min_size=1, max_size=4)
    .map(" ".join)
    .filter(lambda name: requirement_name(name) == name != "")
)
sentences = names.map(lambda words: f"The system SHALL {words}.")
scenarios = st.lists(names, min_size=1, max_size=3, unique=True)


@st.composite
def requirement(draw: st.DrawFn, name: str) -> str:
    blocks = [f"### Requirement: {name}\n{draw(sentences)}"]
    blocks += [f"#### Scenario: {s}\n- **WHEN** a\n- **THEN** b" for s in draw(scenarios)]
    return "\n\n".join(blocks)


@st.composite
def spec(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """The text of a spec and its requirements by name."""
    chosen = draw(st.lists(names, min_size=1, max_size=5, unique_by=fold))
    blocks = {name: draw(requirement(name)) for name in chosen}
    purpose = "A purpose that is long enough to say what this is good for."
    body = "\n\n".join(blocks.values())
    return f"# x\n\n## Purpose\n{purpose}\n\n## Requirements\n\n{body}\n", blocks


@ROUNDS
@given(spec())
def test_reading_a_spec_and_writing_it_again_changes_nothing(
    made: tuple[str, dict[str, str]],
) -> None:
    text, blocks = made
    document = SpecDocument(text.encode())
    assert {block.name: block.raw for block in document.parts.blocks} == blocks
    assert [one.name for one in document.requirements] == list(blocks)
    extra = "## ADDED Requirements\n\n### Requirement: zz\nIt SHALL.\n\n#### Scenario: s\n- x\n"
    added = merge(DeltaDocument(extra.encode()), document, capability="x", change="c")
    removing = DeltaDocument(b"## REMOVED Requirements\n\n### Requirement: zz\n")
    again = merge(removing, SpecDocument(added.text.encode()), capability="x", change="c")
    assert again.text == text


@ROUNDS
@given(spec(), st.data())
def test_an_archive_loses_no_requirement_that_no_delta_names(
    made: tuple[str, dict[str, str]], data: st.DataObject
) -> None:
    text, blocks = made
    touched = data.draw(st.sets(st.sampled_from(list(blocks)), max_size=len(blocks) - 1))
    removed = data.draw(st.sets(st.sampled_from(sorted(touched)))) if touched else set()
    new = data.draw(names.filter(lambda name: fold(name) not in map(fold, blocks)))
    delta = f"## ADDED Requirements\n\n{data.draw(requirement(new))}\n"
    if modified := touched - removed:
        body = "\n\n".join(blocks[name].replace("SHALL", "MUST", 1) for name in sorted(modified))
        delta += f"\n## MODIFIED Requirements\n\n{body}\n"
    if removed:
        listed = "\n".join(f"- `### Requirement: {name}`" for name in sorted(removed))
        delta += f"\n## REMOVED Requirements\n\n{listed}\n"
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        main = project / "openspec/specs/x/spec.md"
        main.parent.mkdir(parents=True)
        main.write_bytes(text.encode())
        change = project / "openspec/changes/c/specs/x/spec.md"
        change.parent.mkdir(parents=True)
        change.write_bytes(delta.encode())
        openspec = OpenSpec(Root(project, "configured"))
        openspec.archive("c", Options())
        after = SpecDocument(main.read_bytes()).blocks
        assert set(after) == (set(blocks) - removed) | {new}
        for name in set(blocks) - touched:
            assert after[name].raw == blocks[name]
        assert openspec.spec("x").blocks == after


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "## ADDED Requirements",
            "## MODIFIED Requirements",
            "## REMOVED Requirements",
            "## RENAMED Requirements",
            "## Requirements",
            "## Purpose",
            "### Requirement: A",
            "### Requirement: B",
            "###Requirement: C",
            "#### Scenario: s",
            "- FROM: `### Requirement: A`",
            "- TO: `### Requirement: B`",
            "```",
            "~~~~",
            "It SHALL.",
            "text",
            "",
            "\ufeff",
            "\u2028",
            "- [ ] 1.1 x",
            "##",
        ]
    ),
    max_size=25,
).map("\n".join)


@settings(max_examples=200, deadline=None)
@given(MARKDOWN, MARKDOWN)
def test_any_text_can_be_merged_or_is_refused_in_words(main: str, delta: str) -> None:
    document = DeltaDocument(delta.encode())
    try:
        merged = merge(document, SpecDocument(main.encode()), capability="x", change="c")
    except MergeError as refused:
        assert str(refused).startswith("x: ")
        return
    assert merged.text.endswith("\n")
    if any(fence_mask(text.split("\n")).unclosed is not None for text in (main, delta)):
        return  # what comes after an unclosed fence is its text; validation refuses the archive
    # Merged once more it either says the same again or refuses: it never does worse.
    rebuilt = SpecDocument(merged.text.encode())
    named = {b.name for b in document.delta.added} | {b.name for b in document.delta.modified}
    assert named <= set(rebuilt.blocks)


@ROUNDS
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_in_a_tree_can_be_listed_shown_and_validated(one: bytes, other: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for name, data in {
            "specs/x/spec.md": one,
            "changes/c/specs/x/spec.md": other,
            "changes/c/tasks.md": one,
            "changes/c/proposal.md": other,
            "changes/c/.openspec.yaml": one,
            "config.yaml": other,
        }.items():
            path = project / "openspec" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        openspec = OpenSpec(Root(project, "configured"))
        calls: list[Callable[[], object]] = [
            openspec.list_changes,
            openspec.list_specs,
            openspec.validate_all,
            openspec.project,
            lambda: openspec.change("c"),
            lambda: openspec.spec("x").requirements,
        ]
        for call in calls:
            assert call() is not None


WORDS = st.sampled_from(
    [
        "schema",
        "a-b",
        "true",
        "FALSE",
        "null",
        "Null",
        "~",
        "2026-01-02",
        "12",
        "0x1f",
        "1e3",
        "yes",
        "a b",
        "a: b",
        "#",
        "- a",
        "'a'",
        '"a',
        "|",
        "nan",
        ".inf",
        "a\u2028b",
        "\x07",
        "é",
        "",
    ]
)
YAML_LINES = st.one_of(
    st.builds("{}: {}".format, WORDS, WORDS),
    st.builds("# {}".format, WORDS),
    st.builds("  {}".format, WORDS),
    st.builds("{}:{}".format, WORDS, WORDS),
    WORDS,
)


@given(
    st.lists(YAML_LINES, max_size=5), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"])
)
@settings(max_examples=400, deadline=None)
def test_plain_yaml_is_read_as_the_library_reads_it(lines: list[str], end: str, last: str) -> None:
    text = end.join(lines) + last
    assert _read_by(plain_yaml.load, text) == _read_by(yaml12.load, text)


def _read_by(load: Callable[[str], object], text: str) -> str:
    try:
        return repr(load(text))
    except InvalidYamlError:
        return "not YAML"
