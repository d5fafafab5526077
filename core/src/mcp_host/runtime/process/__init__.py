"""A pack's side in a child process, as the host sees it: `worker.ProcessWorker` is its `Worker`.

`child.ConnectedChild` is one child from its connection to its end, `calls.ChildCalls` what that was
told to do, `link.ChildLink` its socket, and `processor.ProcessorWatch` the limit of its calls.
"""
