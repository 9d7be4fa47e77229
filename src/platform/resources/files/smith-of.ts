import type { ProjectCaller } from '../../access/caller.ts';

/** The smith whose files alone the caller sees and makes; undefined: every file of the project. */
export function smithOf(caller: ProjectCaller): string | undefined {
  return caller.kind === 'smith' ? caller.smithId : undefined;
}
