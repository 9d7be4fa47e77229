/** The order in which the reference is read: by task, not by the alphabet. */
import type { Operation } from './operation.ts';

/** A chapter of the reference. */
export interface Topic {
  readonly name: string;
  readonly description: string;
  /** What its operations' ids begin with: up to a dot, or whole. The longest that fits decides. */
  readonly prefixes: readonly string[];
}

/** The chapter that an operation belongs to; one of its own, named after its id, where none fits. */
export function topicOf(id: string, topics: readonly Topic[]): string {
  const fitting = topics.flatMap(({ name, prefixes }) =>
    prefixes.filter((prefix) => id === prefix || id.startsWith(`${prefix}.`)).map((prefix) => ({ name, prefix })),
  );
  const [longest] = fitting.sort((a, b) => b.prefix.length - a.prefix.length);
  return longest?.name ?? (id.split('.').slice(0, -1).join('.') || id);
}

/** As much of a document as is put in order. */
export interface ReadableDocument {
  tags?: unknown;
  paths?: Record<string, unknown>;
}

interface ReadingOptions {
  readonly operations: readonly Operation<never>[];
  readonly topics: readonly Topic[];
  readonly basePath: string;
}

/** Puts the chapters as they are listed, and in each of them the operations as the service lists them. */
export function sortForReading(document: ReadableDocument, { operations, topics, basePath }: ReadingOptions): void {
  const ranks = new Map(topics.map(({ name }, rank) => [name, rank]));
  const rankOf = ({ id }: Operation<never>) => ranks.get(topicOf(id, topics)) ?? topics.length;
  const ordered = [...operations].sort((a, b) => rankOf(a) - rankOf(b));
  const paths = new Set(ordered.map(({ path }) => path.slice(basePath.length)));
  const described = document.paths ?? {};
  const used = new Set(operations.map(({ id }) => topicOf(id, topics)));
  document.tags = topics.flatMap(({ name, description }) => (used.has(name) ? [{ name, description }] : []));
  document.paths = Object.fromEntries([...paths].map((path) => [path, described[path] ?? {}]));
}
