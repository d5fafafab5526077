"""The public API of mcp-host: everything that a pack may import.

A name is loaded when it is first used, so that `import mcp_host` costs next to nothing. The MCP SDK
is never imported from here.
"""

from __future__ import annotations

from .startup.version import VERSION

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes 3 ms
if TYPE_CHECKING:  # the same as in the mapping below, for type checkers and editors
    from .clients.changes import Change as Change
    from .clients.reading import (
        ClientFile as ClientFile,
        ClientServer as ClientServer,
        client_files as client_files,
    )
    from .clients.replacing import (
        apply_change as apply_change,
        client_file as client_file,
        plan_replacement as plan_replacement,
    )
    from .declarations.asking import (
        Answer as Answer,
        Choice as Choice,
        Form as Form,
        Root as Root,
        Roots as Roots,
        Sample as Sample,
        Visit as Visit,
    )
    from .declarations.bus import Bus as Bus
    from .declarations.content import (
        Audio as Audio,
        Embedded as Embedded,
        Image as Image,
        Link as Link,
        Message as Message,
        Page as Page,
        Result as Result,
        Text as Text,
    )
    from .declarations.context import (
        Caller as Caller,
        Context as Context,
    )
    from .declarations.contribution import Icon as Icon
    from .declarations.demo import Demo as Demo
    from .declarations.extension import (
        Extension as Extension,
        LongCalls as LongCalls,
        Subscriptions as Subscriptions,
        Method as Method,
        method as method,
    )
    from .declarations.handle import (
        CompletedProgram as CompletedProgram,
        Finding as Finding,
        PackHandle as PackHandle,
        PackSkill as PackSkill,
    )
    from .declarations.markers import (
        Ask as Ask,
        Complete as Complete,
        Header as Header,
    )
    from .declarations.needs import Needs as Needs
    from .declarations.prompt import (
        Prompt as Prompt,
        prompt as prompt,
    )
    from .declarations.resource import (
        Resource as Resource,
        resource as resource,
    )
    from .declarations.tool import (
        Tool as Tool,
        tool as tool,
    )
    from .declarations.worker import (
        WorkerPlace as WorkerPlace,
        WorkerProgram as WorkerProgram,
        WorkerThread as WorkerThread,
    )
    from .errors import (
        AuthenticationRequired as AuthenticationRequired,
        Busy as Busy,
        CallError as CallError,
        Cancelled as Cancelled,
        Conflict as Conflict,
        InternalError as InternalError,
        InvalidInput as InvalidInput,
        McpHostError as McpHostError,
        MissingCapability as MissingCapability,
        NotFound as NotFound,
        PermissionDenied as PermissionDenied,
        SettingsError as SettingsError,
        TimedOut as TimedOut,
        Unavailable as Unavailable,
        Unsupported as Unsupported,
    )
    from .hookspecs import hookimpl as hookimpl
    from .serving.pages.events import PageEvents as PageEvents
    from .serving.pages.messages import (
        PageRequest as PageRequest,
        PageResponse as PageResponse,
    )
    from .serving.pages.server import PageServer as PageServer
    from .serving.pages.styles import PAGE_STYLES as PAGE_STYLES
    from .packs.children.border import WorkerBorder as WorkerBorder
    from .packs.children.child import Program as Program
    from .packs.children.hosted import ThreadBorder as ThreadBorder
    from .settings.editing import SettingsFile as SettingsFile
    from .serving.live.live_host import (
        LiveFeed as LiveFeed,
        LiveHost as LiveHost,
    )
    from .packs.written import WrittenPacks as WrittenPacks
    from .standalone import Standalone as Standalone

__version__ = VERSION

_NAMES = {
    "clients.changes": ("Change",),
    "clients.replacing": ("apply_change", "client_file", "plan_replacement"),
    "settings.editing": ("SettingsFile",),
    "clients.reading": ("ClientFile", "ClientServer", "client_files"),
    "declarations.asking": ("Answer", "Choice", "Form", "Root", "Roots", "Sample", "Visit"),
    "declarations.bus": ("Bus",),
    "declarations.content": (
        "Audio",
        "Embedded",
        "Image",
        "Link",
        "Message",
        "Page",
        "Result",
        "Text",
    ),
    "declarations.context": ("Caller", "Context"),
    "declarations.contribution": ("Icon",),
    "declarations.demo": ("Demo",),
    "declarations.extension": ("Extension", "LongCalls", "Method", "Subscriptions", "method"),
    "declarations.handle": ("CompletedProgram", "Finding", "PackHandle", "PackSkill"),
    "declarations.markers": ("Ask", "Complete", "Header"),
    "declarations.needs": ("Needs",),
    "declarations.prompt": ("Prompt", "prompt"),
    "declarations.resource": ("Resource", "resource"),
    "declarations.tool": ("Tool", "tool"),
    "declarations.worker": ("WorkerPlace", "WorkerProgram", "WorkerThread"),
    "errors": (
        "AuthenticationRequired",
        "Busy",
        "CallError",
        "Cancelled",
        "Conflict",
        "InternalError",
        "InvalidInput",
        "McpHostError",
        "MissingCapability",
        "NotFound",
        "PermissionDenied",
        "SettingsError",
        "TimedOut",
        "Unavailable",
        "Unsupported",
    ),
    "hookspecs": ("hookimpl",),
    "serving.pages.events": ("PageEvents",),
    "serving.pages.messages": ("PageRequest", "PageResponse"),
    "serving.pages.server": ("PageServer",),
    "serving.pages.styles": ("PAGE_STYLES",),
    "packs.children.border": ("WorkerBorder",),
    "packs.children.child": ("Program",),
    "packs.children.hosted": ("ThreadBorder",),
    "packs.written": ("WrittenPacks",),
    "serving.live.live_host": ("LiveFeed", "LiveHost"),
    "standalone": ("Standalone",),
}
"""The names by the modules that have them."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # which a client's first answer does without

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
