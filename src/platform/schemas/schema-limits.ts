/**
 * What a schema of a caller may hold at most. At or above what OpenAI takes: 5,000 properties in all, 10 levels of them,
 * 120,000 characters of names and values, 1,000 values of enums, recursion.
 */
export const schemaLimits = {
  /** Of the schema as JSON, in UTF-8. */
  bytes: 1_000_000,
  /** Levels of objects and lists. One level of properties takes two to five of them. */
  depth: 90,
  /** Objects and lists, wherever they stand. An optional property of a list takes five of them. */
  parts: 30_000,
  /** Values of all `enum` together. */
  enumValues: 5_000,
  /** Members of one `anyOf`, `oneOf` or `allOf`. */
  alternatives: 500,
  /** Subschemas that apply to one and the same value, those behind `$ref` counted as often as they are referred to. */
  appliedSubschemas: 100_000,
  /** Characters of one regular expression. */
  patternChars: 2_000,
  /** States of the automaton that one regular expression becomes: `[a-z]{100}` has a hundred. */
  patternStates: 10_000,
  /** The same, of all regular expressions of a schema. */
  allPatternStates: 50_000,
} as const;

/** What the schemas of all tools of one request may hold together. */
export const requestLimits = { bytes: 2_000_000, parts: 60_000 } as const;
