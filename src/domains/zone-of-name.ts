/** SQL for the zone of a name: what stands below its first dot, by which a name belongs to a registry. */

/** Of the name in this column. */
export const zoneOf = (column: string): string => `substring(${column} from position('.' in ${column}) + 1)`;

/** Whether `name` is one label below one of the zones in this parameter, a `text[]`; null: any. */
export const isUnderAny = (parameter: string): string =>
  `(${parameter}::text[] is null or ${zoneOf('name')} = any(${parameter}::text[]))`;
