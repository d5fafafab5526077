"""All that runs before a client has its first answer.

It imports itself and a few named modules of the standard library, nothing else: a test holds this.
"""
