"""Which model one talks to: the vendors by their names on the command line, and the one whose key is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from xmcp.providers import LLMProvider, ProviderError

DEMO: Final = "demo"
"""The name of what is no model."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor: the name of its class in `xmcp.providers`, and what has to be installed.

    Attributes:
        provider: The class.
        package: The package of its SDK, if it does not come with this one.
        extra: The extra of this package that installs it.
    """

    provider: str
    package: str = ""
    extra: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that can have its key."""
        return tuple(getattr(self.made_by, "key_variables", ()))

    @property
    def made_by(self) -> Any:
        """The class itself."""
        return getattr(import_module("xmcp.providers"), self.provider)


VENDORS: Final[Mapping[str, Vendor]] = {
    "openai": Vendor("OpenAIProvider"),
    "anthropic": Vendor("AnthropicProvider", "anthropic", "anthropic"),
    "gemini": Vendor("GeminiProvider", "google.genai", "gemini"),
    "mistral": Vendor("MistralProvider", "mistralai", "mistral"),
    "deepseek": Vendor("DeepSeekProvider"),
    "minimax": Vendor("MiniMaxProvider"),
    "openai-responses": Vendor("OpenAIResponsesProvider"),
    "local": Vendor("LocalProvider"),
    "gemini-cli": Vendor("GeminiCLIProvider"),
}
"""In the order in which a key is looked for."""

NAMES: Final = (*VENDORS, DEMO)


class NoModel(ValueError):
    """Nobody can be talked to; the message says what to set."""


def vendor_named(name: str | None, base_url: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the vendor: the one given, or the one that the environment has a key or an address of.

    Raises:
        NoModel: none is given, and nothing is set.
    """
    if name is not None:
        return name
    if base_url is not None:
        return "openai"  # whose format others have
    for candidate, vendor in VENDORS.items():
        if any(environment.get(key, "").strip() for key in vendor.keys):
            return candidate
    if environment.get("OPENAI_BASE_URL", "").strip():
        return "openai"
    if environment.get("OLLAMA_HOST", "").strip():
        return "local"
    keys = "\n".join(f"  {vendor.keys[0]:<20} {name}" for name, vendor in VENDORS.items() if _is_shown(name, vendor))
    raise NoModel(
        "There is no model to talk to. Set the key of one in the environment:\n"
        f"{keys}\n"
        "or, without a key:\n"
        "  --provider local       a model on this machine (Ollama; --base-url for vLLM and others)\n"
        "  --provider demo        no model, but a script that calls the tools that you name"
    )


def _is_shown(name: str, vendor: Vendor) -> bool:
    return bool(vendor.keys) and name != "openai-responses"


def model_of(name: str, model: str | None, base_url: str | None) -> LLMProvider:
    """Return the provider of a vendor.

    Raises:
        NoModel: its SDK is not installed, it has no key, or an option does not fit it.
    """
    if name == DEMO:
        from xmcp.cli.chat.demo_model import demo_model

        if base_url is not None:
            raise NoModel("--base-url is the address of a model, and `demo` is none.")
        return demo_model()
    vendor = VENDORS[name]
    if vendor.package and not _is_installed(vendor.package):
        raise NoModel(f"The provider `{name}` needs the package {vendor.package}: pip install 'xmcp[{vendor.extra}]'.")
    if base_url is not None and name == "gemini-cli":
        raise NoModel("--base-url is the address of a model, and `gemini-cli` is a program.")
    address = {} if base_url is None else {"base_url": base_url}
    try:
        provider: LLMProvider = vendor.made_by(model=model, **address)
    except ProviderError as error:
        if vendor.keys and not any(os.environ.get(key, "").strip() for key in vendor.keys):
            needed = " or ".join(vendor.keys)
            raise NoModel(f"The provider `{name}` needs a key: set {needed} in the environment.") from error
        raise NoModel(error.message) from error
    except ValueError as error:
        raise NoModel(str(error)) from error
    return provider


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package that should hold it is missing
        return False
