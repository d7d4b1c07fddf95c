"""The server behind the page: routes, the queue, trainer processes, ownership and limits."""
