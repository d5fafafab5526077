"""The forges by the names that the setting `git_provider` has for them."""

from collections.abc import Mapping

from .forge import Forge
from .gitea import Gitea
from .github import GitHub
from .gitlab import GitLab

KINDS: Mapping[str, type[Forge]] = {"github": GitHub, "gitlab": GitLab, "gitea": Gitea}
