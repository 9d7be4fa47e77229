import type { Readable } from 'node:stream';
import type { AnswerFile } from './channel.ts';

/** The file store as channels use it. */
export interface ChannelFiles {
  /** Of one file. */
  readonly limitBytes: number;
  /** Makes it a file of the smith's, reachable by its id alone. Throws `payload_too_large` and `storage_unavailable`. */
  keep(
    owner: { readonly projectId: string; readonly smithId: string },
    file: {
      readonly filename: string;
      readonly mediaType: string;
      readonly content: AsyncIterable<Uint8Array>;
    },
  ): Promise<{ readonly fileId: string; readonly mediaType: string }>;
  /** Keeps bytes until a turn takes them: nobody's file, that goes by itself in two days. Throws as `keep` does. */
  hold(
    projectId: string,
    file: { readonly filename: string; readonly mediaType: string; readonly content: AsyncIterable<Uint8Array> },
  ): Promise<{ readonly fileId: string }>;
  /** Those of the files that are there, in the order of the ids. */
  describe(projectId: string, fileIds: readonly string[]): Promise<readonly AnswerFile[]>;
  /** Throws `not_found` and `storage_unavailable`. */
  open(projectId: string, fileId: string): Promise<Readable>;
}
