//! Sockets, sniffing, HTTP routes, limits and self-metrics.
