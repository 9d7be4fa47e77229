/** How large a bundle may be. A bundle of loose files is limited as an unpacked one. */
export const MAX_PACKED_BYTES = 10 * 1024 * 1024;
export const MAX_UNPACKED_BYTES = 50 * 1024 * 1024;
export const MAX_FILES = 500;
/** Files, and the folders that archives name beside them. */
export const MAX_ENTRIES = 2_000;
