// What the editor knows of SQL's functions and clauses: what they do, and what they take.

/** Functions with what they do. */
export const SQL_HELP: Record<string, string> = {
  abs: "without sign", approx_percentile_cont: "value below which such a share lies", atan2: "angle of a point", avg: "mean", bool_and: "whether all are true",
  bool_or: "whether one is true", cast: "as another type", ceil: "rounded up", coalesce: "the first that is not NULL", concat: "texts one after another", cos: "cosine",
  count: "number of values, or of rows", date_bin: "beginning of the window that a time falls into", date_part: "hour, day or the like of a time",
  date_trunc: "beginning of the hour, day or the like", exp: "power of e", first_value: "oldest value", floor: "rounded down", greatest: "the greatest of several",
  last_value: "newest value", least: "the least of several", left: "first letters", length: "number of letters", ln: "natural logarithm", log10: "logarithm to 10",
  log2: "logarithm to 2", lower: "in small letters", max: "greatest value", median: "middle value", min: "least value", mod: "rest of a division",
  now: "the time at which this is asked", nullif: "NULL where two are the same", percentile_cont: "value below which such a share lies", pi: "3.14159…", power: "to the power",
  replace: "with another text in place of one", right: "last letters", round: "rounded", sin: "sine", split_part: "a part between marks", sqrt: "square root",
  starts_with: "whether a text begins so", stddev: "deviation", strpos: "where a text stands in another", substr: "a part of a text", sum: "sum", tan: "tangent",
  time_bucket: "beginning of the window that a time falls into", to_timestamp: "a time of seconds since 1970", trim: "without blanks at its ends", upper: "in capital letters",
  variance: "square of the deviation",
};

/** What some of them take, where that is not one value. */
export const SQL_SIGNATURES: Record<string, string> = {
  approx_percentile_cont: "approx_percentile_cont(value, 0.95)", atan2: "atan2(y, x)", date_part: "date_part('hour', time)", greatest: "greatest(value, other, …)", least: "least(value, other, …)", left: "left(text, letters)",
  mod: "mod(value, divisor)", percentile_cont: "percentile_cont(0.95) WITHIN GROUP (ORDER BY value)", replace: "replace(text, from, to)", right: "right(text, letters)", split_part: "split_part(text, mark, number)",
  starts_with: "starts_with(text, beginning)", strpos: "strpos(text, part)", substr: "substr(text, from, letters)", cast: "cast(value AS type)", coalesce: "coalesce(value, other, …)", date_bin: "date_bin(INTERVAL '5 minutes', time)",
  date_trunc: "date_trunc('hour', time)", first_value: "first_value(value ORDER BY time)", last_value: "last_value(value ORDER BY time)", nullif: "nullif(value, other)", power: "power(value, exponent)",
  round: "round(value, digits)", time_bucket: "time_bucket('5 minutes', time)",
};

/** Words that may begin what follows. */
export const SQL_CLAUSES = [
  "SELECT", "FROM", "WHERE time >= $start AND time < $end", "WHERE", "GROUP BY 1", "GROUP BY", "HAVING", "ORDER BY time", "ORDER BY", "DESC", "LIMIT", "OFFSET", "AS", "AND", "OR", "NOT", "IN", "IS NULL", "IS NOT NULL",
  "LIKE", "BETWEEN", "DISTINCT", "INTERVAL '5 minutes'", "CASE WHEN", "SHOW TABLES", "SHOW COLUMNS FROM", "DESCRIBE", "EXPLAIN", "EXPLAIN ANALYZE", "WITH",
];

/** What may be selected of any table, beside its columns. */
export const SQL_WINDOW = "date_bin($step, time) AS time";
