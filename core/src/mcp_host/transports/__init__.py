"""How clients reach the host: standard input and output, and streamable HTTP."""
