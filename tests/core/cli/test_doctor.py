"""`mcp-host doctor`: what it opens, checks and tells."""

from core_desk import OPENS
from core_home import Home


def test_doctor_ends_with_0_only_when_packs_are_ready_or_merely_not_set_up(home: Home) -> None:
    home.add_pack(
        "unmade",
        OPENS.format(body='pack.degraded("no plan", code="not_set_up", remedy="run plan init")'),
    )
    home.add_pack("broken", OPENS.format(body='raise OSError("the disk is gone")'))
    config = ("--config", "mcp-host.toml")
    home.write("[packs.desk]\n[packs.unmade]\n[packs.broken]\nenabled = false\n")
    well, well_json = home.run("doctor", *config), home.run("doctor", "--json", *config)
    home.write('[packs.desk.settings]\nmood = "busy"\n')
    found = home.run("doctor", *config)
    home.write("[packs.broken]\n[packs.nobody_has_it]\n")
    failed = home.run("doctor", *config)

    assert (well.code, well_json.code, found.code, failed.code) == (0, 0, 1, 1)
    states = {pack["name"]: pack["state"] for pack in well_json.json["packs"]}
    assert states == {"desk": "ready", "unmade": "degraded", "broken": "disabled"}
    for text in ("no plan", "run plan init"):
        assert text in well.out
    assert "is worn" in found.out
    assert "have a new one cut" in found.out
    assert "the disk is gone" in failed.out
    assert "tried again" not in failed.out  # not by a command that ends now
    assert "no installed distribution offers a pack 'nobody_has_it'" in failed.out
