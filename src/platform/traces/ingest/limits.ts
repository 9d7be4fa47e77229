/** What pushed spans may be. docs/operating.md has the same numbers. */
export const MAX_SPANS_PER_REQUEST = 1_000;
export const MAX_SPANS_PER_TRACE = 10_000;
/** Names and attributes of all spans of a trace, as JSON in UTF-8: so much is read when the trace is. */
export const MAX_TRACE_BYTES = 8 * 1024 * 1024;
/** Levels of spans below each other. */
export const MAX_TREE_DEPTH = 256;
export const MAX_SPAN_ID_CHARS = 64;
export const MAX_TRACE_ID_CHARS = 128;
export const MAX_APP_ID_CHARS = 256;
export const MAX_SPAN_NAME_CHARS = 256;
export const MAX_ATTRIBUTES = 128;
/** Of one span, as JSON in UTF-8. */
export const MAX_ATTRIBUTES_BYTES = 65_536;
export const MAX_ERROR_TYPE_CHARS = 128;
export const MAX_ERROR_MESSAGE_CHARS = 1_000;
/** Of one span. */
export const MAX_TOKENS = 1_000_000_000;
/** US dollars of one span. */
export const MAX_COST = 1_000_000;
/** Clocks differ; what is further ahead is a mistake. */
export const MAX_FUTURE_SECONDS = 3_600;
/** What is older is a mistake, too: milliseconds in the place of nanoseconds, say. */
export const OLDEST_YEAR = 2000;
