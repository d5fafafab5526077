"""The assistants that a project can be set up for, and the workflows that each of them gets."""

from typing import Final, Literal, NamedTuple

Delivery = Literal["both", "skills", "commands"]
"""What an assistant gets: skills, slash commands, or both."""

SKILLS: Final = {
    "propose": "openspec-propose",
    "explore": "openspec-explore",
    "new": "openspec-new-change",
    "continue": "openspec-continue-change",
    "apply": "openspec-apply-change",
    "update": "openspec-update-change",
    "ff": "openspec-ff-change",
    "sync": "openspec-sync-specs",
    "archive": "openspec-archive-change",
    "bulk-archive": "openspec-bulk-archive-change",
    "verify": "openspec-verify-change",
    "onboard": "openspec-onboard",
}
"""The workflows, each with the name of its skill."""

CORE: Final = ("propose", "explore", "apply", "update", "sync", "archive")
"""The workflows of the profile `core`."""

Form = Literal[
    "bare", "claude", "codebuddy", "continue", "description", "heading", "hint", "id", "named",
    "tagged", "toml",
]  # fmt: skip
"""How the file of a slash command begins."""


class Commands(NamedTuple):
    """Where an assistant looks for slash commands, and how their files look."""

    path: str
    """Relative to the project; `{id}` stands for the workflow."""
    form: Form
    prefix: str = "/"

    def spelled(self, workflow: str) -> str:
        """What a person types to call one: `/opsx:apply`, `/opsx-apply` or `@opsx-apply`."""
        flat = self.path.rpartition("/")[2].startswith("opsx-")
        return f"{self.prefix}opsx{'-' if flat else ':'}{workflow}"


class Assistant(NamedTuple):
    """One assistant."""

    id: str
    name: str
    folder: str
    """Where it looks for `skills/`; relative to the project, or with `~/` to the home folder."""
    commands: Commands | None = None
    signs: tuple[str, ...] = ()
    """Files or folders that show that a project uses it; none: its folder."""
    skill_prefix: str | None = "/"
    """What stands before the name of a skill to call it; None: it is called in words."""

    @property
    def is_global(self) -> bool:
        """Whether its skills stand in the home folder, for all projects."""
        return self.folder.startswith("~/")

    def gets_skills(self, delivery: Delivery) -> bool:
        """Whether skills are written for it; Codex calls skills as commands."""
        return delivery != "commands" or self.id == "codex"

    def gets_commands(self, delivery: Delivery) -> bool:
        """Whether slash commands are written for it."""
        return delivery != "skills" and self.commands is not None


def _assistant(
    name: str,
    label: str,
    folder: str,
    path: str | None = None,
    form: Form = "description",
    *signs: str,
    prefix: str = "/",
    skill_prefix: str | None = "/",
) -> Assistant:
    commands = Commands(path, form, prefix) if path else None
    return Assistant(name, label, folder, commands, signs, skill_prefix)


ASSISTANTS: Final = {
    one.id: one
    for one in (
        _assistant(
            "amazon-q", "Amazon Q Developer", ".amazonq", ".amazonq/prompts/opsx-{id}.md",
            prefix="@",
        ),
        _assistant(
            "antigravity", "Antigravity", ".agents", ".agents/workflows/opsx-{id}.md",
            "description", ".agent", ".agents/workflows",
        ),
        _assistant(
            "auggie", "Auggie (Augment CLI)", ".augment", ".augment/commands/opsx-{id}.md", "hint"
        ),
        _assistant("bob", "Bob Shell", ".bob", ".bob/commands/opsx-{id}.md", "hint"),
        _assistant("claude", "Claude Code", ".claude", ".claude/commands/opsx/{id}.md", "claude"),
        _assistant("cline", "Cline", ".cline", ".clinerules/workflows/opsx-{id}.md", "heading"),
        _assistant(
            "command-code", "Command Code", ".commandcode", ".commandcode/commands/opsx-{id}.md",
            "bare",
        ),
        _assistant("codeartsagent", "CodeArts", ".codeartsdoer"),
        _assistant(
            "codex", "Codex", ".agents", None, "bare", ".agents/skills", ".codex/skills",
            skill_prefix="$",
        ),
        _assistant(
            "devin", "Devin Desktop (formerly Windsurf)", ".devin",
            ".devin/workflows/opsx-{id}.md", "tagged", ".devin", ".windsurf",
        ),
        _assistant("forgecode", "ForgeCode", ".forge"),
        _assistant(
            "codebuddy", "CodeBuddy Code (CLI)", ".codebuddy", ".codebuddy/commands/opsx/{id}.md",
            "codebuddy",
        ),
        _assistant(
            "continue", "Continue", ".continue", ".continue/prompts/opsx-{id}.prompt", "continue"
        ),
        _assistant(
            "costrict", "CoStrict", ".cospec", ".cospec/openspec/commands/opsx-{id}.md", "hint"
        ),
        _assistant("crush", "Crush", ".crush", ".crush/commands/opsx/{id}.md", "tagged"),
        _assistant("cursor", "Cursor", ".cursor", ".cursor/commands/opsx-{id}.md", "id"),
        _assistant(
            "factory", "Factory Droid", ".factory", ".factory/commands/opsx-{id}.md", "hint"
        ),
        _assistant("gemini", "Gemini CLI", ".gemini", ".gemini/commands/opsx/{id}.toml", "toml"),
        _assistant(
            "github-copilot", "GitHub Copilot", ".github", ".github/prompts/opsx-{id}.prompt.md",
            "description", ".github/copilot-instructions.md", ".github/instructions",
            ".github/workflows/copilot-setup-steps.yml", ".github/prompts", ".github/agents",
            ".github/skills", ".github/.mcp.json",
        ),
        _assistant(
            "hermes", "Hermes Agent", ".hermes", None, "bare", ".hermes", "HERMES.md", ".hermes.md"
        ),
        _assistant("iflow", "iFlow", ".iflow", ".iflow/commands/opsx-{id}.md", "id"),
        _assistant("junie", "Junie", ".junie", ".junie/commands/opsx-{id}.md"),
        _assistant(
            "kilocode", "Kilo Code", ".kilocode", ".kilo/command/opsx-{id}.md", "bare"
        ),
        _assistant(
            "kimi", "Kimi Code", ".kimi-code", None, "bare", ".kimi-code", ".kimi",
            skill_prefix="/skill:",
        ),
        _assistant("kiro", "Kiro", ".kiro", ".kiro/prompts/opsx-{id}.prompt.md"),
        _assistant("lingma", "Lingma", ".lingma", ".lingma/commands/opsx/{id}.md", "tagged"),
        _assistant("minimax-code", "MiniMax Code", "~/.minimax"),
        _assistant("vibe", "Mistral Vibe", ".vibe"),
        _assistant("oh-my-pi", "Oh My Pi", ".omp", ".omp/commands/opsx-{id}.md"),
        _assistant("opencode", "OpenCode", ".opencode", ".opencode/commands/opsx-{id}.md"),
        _assistant("pi", "Pi", ".pi", ".pi/prompts/opsx-{id}.md"),
        _assistant(
            "codeassistant", "SourceCraft Code Assistant", ".codeassistant",
            ".codeassistant/commands/opsx-{id}.md", skill_prefix=None,
        ),
        _assistant("qoder", "Qoder", ".qoder", ".qoder/commands/opsx/{id}.md", "tagged"),
        _assistant("qwen", "Qwen Code", ".qwen", ".qwen/commands/opsx-{id}.md"),
        _assistant(
            "rovodev", "Rovo Dev CLI", ".rovodev", None, "bare", ".rovodev/skills", ".rovodev",
            skill_prefix=None,
        ),
        _assistant("roocode", "Zoo Code", ".roo", ".roo/commands/opsx-{id}.md", "heading"),
        _assistant("trae", "Trae", ".trae", ".trae/commands/opsx-{id}.md", "named"),
        _assistant("zed", "Zed Agent", ".agents", None, "bare", ".zed", ".agents/skills"),
        _assistant("zcode", "ZCode", ".zcode", ".zcode/commands/opsx/{id}.md", "tagged"),
        _assistant(
            "agents", "Other / Universal (shared .agents skills)", ".agents", None, "bare",
            ".agents/skills",
        ),
    )
}  # fmt: skip
"""The assistants by id, in the reference tool's order."""

RENAMED: Final = {"windsurf": "devin"}
"""Names that assistants had before."""


def profile_workflows(profile: str, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The workflows of a profile: the core ones, or those chosen and what archiving needs."""
    if profile != "custom":
        return CORE
    known = tuple(one for one in chosen if one in SKILLS)
    first = next((i for i, one in enumerate(known) if one.endswith("archive")), None)
    if first is None or "sync" in known:
        return known
    return (*known[:first], "sync", *known[first:])


def sharing(folder: str) -> tuple[Assistant, ...]:
    """The assistants that look for skills in one folder."""
    return tuple(one for one in ASSISTANTS.values() if one.folder == folder)
