/** What the sandbox needs of the file store; resources/files has it. */
import type { Readable } from 'node:stream';
import type { TenantTransaction } from '../store/tenant-db.ts';

/** A file of the turn, to be laid into the box. */
export interface InputFile {
  readonly filename: string;
  readonly bytes: number;
  open(): Promise<Readable>;
}

/** Bytes that a command left in its output folder: no file before `claimOutputs`. */
export interface StoredOutput {
  readonly id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface SandboxFiles {
  /** Those of the files that are there for this smith. */
  findInputs(projectId: string, smithId: string, fileIds: readonly string[]): Promise<InputFile[]>;
  /** Throws `payload_too_large` and `storage_unavailable`. */
  storeOutput(projectId: string, filename: string, content: AsyncIterable<Uint8Array>): Promise<StoredOutput>;
  /** Makes them files of the smith, in this transaction. Throws `payload_too_large`. */
  claimOutputs(tx: TenantTransaction, smithId: string, outputs: readonly StoredOutput[]): Promise<void>;
  openArchive(projectId: string, archiveId: string): Promise<Readable>;
  /** Throws `payload_too_large` and `storage_unavailable`. */
  storeArchive(projectId: string, archiveId: string, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number }>;
  /**
   * Puts one archive in another's place, in this transaction: last, as storage is counted. Null: none. Throws
   * `payload_too_large`.
   */
  replaceArchive(tx: TenantTransaction, before: Archive | null, after: Archive | null): Promise<void>;
  /** Removes those of the bytes that no transaction has claimed. Never throws: what it cannot remove is swept later. */
  discard(projectId: string, ids: readonly string[]): Promise<void>;
}

export interface Archive {
  readonly id: string;
  readonly bytes: number;
}
