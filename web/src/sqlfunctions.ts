// What the editor knows of SQL's functions and clauses: what they do, and what they take.

/** Functions with what they do. */
export const SQL_HELP: Record<string, string> = {
  abs: "without sign", approx_percentile_cont: "value below which such a share lies", avg: "mean", cast: "as another type", ceil: "rounded up", coalesce: "the first that is not NULL",
  count: "number of values, or of rows", date_bin: "beginning of the window that a time falls into", date_trunc: "beginning of the hour, day or the like", exp: "power of e", first_value: "oldest value",
  floor: "rounded down", last_value: "newest value", ln: "natural logarithm", log10: "logarithm to 10", log2: "logarithm to 2", lower: "in small letters", max: "greatest value", median: "middle value",
  min: "least value", now: "the time at which this is asked", nullif: "NULL where two are the same", power: "to the power", round: "rounded", sqrt: "square root", stddev: "deviation", sum: "sum",
  time_bucket: "beginning of the window that a time falls into", upper: "in capital letters",
};

/** What some of them take, where that is not one value. */
export const SQL_SIGNATURES: Record<string, string> = {
  approx_percentile_cont: "approx_percentile_cont(value, 0.95)", cast: "cast(value AS type)", coalesce: "coalesce(value, other, …)", date_bin: "date_bin(INTERVAL '5 minutes', time)",
  date_trunc: "date_trunc('hour', time)", first_value: "first_value(value ORDER BY time)", last_value: "last_value(value ORDER BY time)", nullif: "nullif(value, other)", power: "power(value, exponent)",
  round: "round(value, digits)", time_bucket: "time_bucket('5 minutes', time)",
};

/** Words that may begin what follows. */
export const SQL_CLAUSES = [
  "SELECT", "FROM", "WHERE time >= $start AND time < $end", "WHERE", "GROUP BY 1", "GROUP BY", "HAVING", "ORDER BY time", "ORDER BY", "DESC", "LIMIT", "OFFSET", "AS", "AND", "OR", "NOT", "IN", "IS NULL", "IS NOT NULL",
  "LIKE", "BETWEEN", "DISTINCT", "INTERVAL '5 minutes'", "CASE WHEN", "SHOW TABLES", "SHOW COLUMNS FROM", "EXPLAIN",
];

/** What may be selected of any table, beside its columns. */
export const SQL_WINDOW = "date_bin($step, time) AS time";
