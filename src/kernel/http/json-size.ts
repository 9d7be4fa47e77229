/** How large a value is as JSON. */

/**
 * Bytes of the value's JSON in UTF-8, as `JSON.stringify` writes it; any number above `limit` for all that is larger: what
 * is beyond the limit is not looked at. For values that came as JSON.
 */
export function jsonBytes(value: unknown, limit: number): number {
  if (typeof value === 'string') return stringBytes(value, limit);
  if (value === null || typeof value !== 'object') return JSON.stringify(value)?.length ?? 0;
  // The brackets; each entry then brings a comma or, the last one, nothing.
  let bytes = 2;
  let entries = 0;
  const isArray = Array.isArray(value);
  for (const [name, member] of isArray ? value.entries() : Object.entries(value)) {
    if (!isArray) bytes += stringBytes(String(name), limit - bytes) + 1;
    if (bytes <= limit) bytes += jsonBytes(member, limit - bytes);
    if (entries > 0) bytes += 1;
    entries += 1;
    if (bytes > limit) break;
  }
  return bytes;
}

function stringBytes(text: string, limit: number): number {
  // No character takes less than a byte: a long text is not even copied.
  return text.length + 2 > limit ? text.length + 2 : Buffer.byteLength(JSON.stringify(text));
}
