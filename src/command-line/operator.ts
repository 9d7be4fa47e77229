/** Who acts when a verb changes something, as the feed shows it: the person who holds the machine. */
import type { Actor } from '../platform/tables.ts';

export const operator: Actor = { kind: 'operator', id: 'command-line', token_id: '', email: '' };
