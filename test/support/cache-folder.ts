import { fileURLToPath } from 'node:url';

/** What tests keep from one run to the next. Deletable at any time; shared by every checkout with these `node_modules`. */
export const cacheFolder = fileURLToPath(new URL('../../node_modules/.cache/ironcraft/', import.meta.url));
