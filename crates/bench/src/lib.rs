//! Load generator, query driver, oracle and reports.
