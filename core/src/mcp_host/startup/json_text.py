"""JSON by the C functions that `json` itself calls, without `re` and `enum`, which it imports.

That is a third of a front's start, and half a MiB of every session. What comes out is the same as
from `json`, which serves where there are none of these functions, and for bytes that may not be
UTF-8. `loads` raises `ValueError` and `RecursionError`, `dumps` `ValueError` and `TypeError`; of
the options of `dumps` there are `ensure_ascii` and `separators`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import dumps as dumps, loads as loads
else:
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
    except ImportError:
        from json import dumps as dumps, loads as loads
    else:
        _SPACE = " \t\n\r"
        _OTHER = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")
        """What bytes of another encoding begin with; or they have a zero soon."""

        class _Ways:
            strict = True
            object_hook = object_pairs_hook = None
            parse_float, parse_int = float, int
            parse_constant = {
                "NaN": float("nan"),
                "Infinity": float("inf"),
                "-Infinity": float("-inf"),
            }.__getitem__

        _scan = make_scanner(_Ways)

        def loads(text):
            """Parse JSON."""
            if not isinstance(text, str):
                if text.startswith(_OTHER) or b"\0" in text[:4]:
                    from json import loads as in_any_encoding

                    return in_any_encoding(text)
                text = text.decode("utf-8", "surrogatepass")
            body = text.strip(_SPACE)
            try:
                found, end = _scan(body, 0)
            except StopIteration as error:
                raise ValueError(f"this is no JSON at character {error.value}") from None
            if end != len(body):
                raise ValueError(f"there is more than one value of JSON at character {end}")
            return found

        def dumps(value, *, ensure_ascii=True, separators=(", ", ": ")):
            """Write JSON."""
            text = encode_basestring_ascii if ensure_ascii else encode_basestring
            item, key = separators
            encode = make_encoder({}, _refuse, text, None, key, item, False, False, True)
            return "".join(encode(value, 0))

        def _refuse(value):
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
