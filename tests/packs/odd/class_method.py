from mcp_host import hookimpl, tool


class Weather:
    @tool(read_only=True)
    @classmethod
    def forecast(cls, city: str) -> str:
        """Say how the weather will be."""
        return city


@hookimpl
def mcp_host_tools():
    return [Weather.forecast]
