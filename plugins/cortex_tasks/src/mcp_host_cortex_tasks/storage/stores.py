"""Which store of tasks the settings name."""

from .config import LOCAL, Config
from .tasks import Tasks


def open_tasks(config: Config) -> Tasks:
    """Return the store that the settings name.

    Each kind is imported only where it is used: SQLite costs a command 8 ms, and HTTP 35 ms.
    """
    if config.url == LOCAL:
        from .local import LocalTasks

        return LocalTasks(config.home / "tasks.db")
    from .remote import Backend, RemoteTasks

    backend = Backend(config.url, config.token(), timeout=config.seconds("timeout"))
    return RemoteTasks(backend, project_id=config.number("default_project_id"))
