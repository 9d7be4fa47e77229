/**
 * The cases of this folder are data: what a caller sends, and the answer that is right. Every one is made by code when it is
 * its turn, so that nothing large lies in the repository or stays in memory.
 */
import type { Variables } from '../boot/server-process.ts';

interface HostileCase {
  /** Unique in its file. Says what is sent, in a few words. */
  readonly name: string;
}

/** Where a caller's schema comes in. */
export const SCHEMA_PLACES = ['response_format', 'text.format', 'tool parameters'] as const;

export type SchemaPlace = (typeof SCHEMA_PLACES)[number];

/**
 * - `accepted`: 2xx, and the turn completes (or pauses for the tool).
 * - `refused`: 422 with the code of its place: `invalid_response_format`, or `invalid_request` for a tool's parameters.
 * - `failed`: 2xx, and the turn ends as failed.
 * - `either`: any of these. For what is near a budget of time, where the machine decides.
 */
export type SchemaAnswer = 'accepted' | 'refused' | 'failed' | 'either';

export interface SchemaCase extends HostileCase {
  /** A string is sent as it stands, as JSON: for what JSON.stringify cannot write (repeated members, great depth). */
  readonly schema: () => unknown;
  /** Where it is accepted or refused so. Default: all of them. */
  readonly places?: readonly SchemaPlace[];
  /** What the demo model is told to call the tool with, where the schema is one of parameters. Default: `{}`. */
  readonly args?: () => object;
  readonly answer: SchemaAnswer;
  /** Of a refusal, where it is another than that of its place. */
  readonly code?: string;
  /** What the error's message must say of the limit. */
  readonly message?: RegExp;
}

export interface PatternCase extends HostileCase {
  readonly pattern: string;
  /** Default: `pattern`, of a string. With `patternProperties` it is that of the names of members. */
  readonly keyword?: 'pattern' | 'patternProperties';
  /** What the demo model is told to call the tool with: the string to match, or the name of the member. */
  readonly value?: () => string;
  /** Where it is accepted or refused so. Default: all of them. */
  readonly places?: readonly SchemaPlace[];
  readonly answer: SchemaAnswer;
}

/** What an abuse of the protocol is aimed at. */
export interface HttpTarget {
  readonly host: string;
  readonly port: number;
  /** `http://host:port` */
  readonly url: string;
  /** Of a project of its own. */
  readonly token: string;
  /** A smith of that project, on `builtin/demo`. */
  readonly smithId: string;
  readonly organizationKey: string;
  /** The server's process, for those that look at its memory or sockets. */
  readonly pid: number;
}

export interface HttpOutcome {
  /** Of the answer; undefined where the connection ended without one. */
  readonly status?: number | undefined;
  /** `error.code` of the answer, where it has one. */
  readonly code?: string | undefined;
  /** Whether the server ended the connection. */
  readonly closed?: boolean | undefined;
}

export interface HttpAbuse extends HostileCase {
  /** Does it, and tells how the server answered. May assert more by itself. */
  readonly perform: (target: HttpTarget) => Promise<HttpOutcome>;
  /** Every member that stands here must be so; of a list, one of them. */
  readonly answer: {
    readonly status?: number | readonly number[] | undefined;
    readonly code?: string | readonly string[];
    readonly closed?: boolean;
  };
}

/** Settings without which the abuses take too long, such as shorter deadlines. */
export type AbuseEnvironment = Variables;

export type DocumentAnswer =
  /** The file is indexed. */
  | 'completed'
  /** It fails, with this code. */
  | 'invalid_file'
  | 'unsupported_file'
  | 'no_text_layer';

export interface DocumentCase extends HostileCase {
  readonly filename: string;
  /** Default: that of a browser which does not know the format. */
  readonly mediaType?: string;
  readonly bytes: () => Uint8Array;
  /** What has to embed its text, where that is what may stumble. Default: what the tenant's store has. */
  readonly embedding?: 'builtin/embed';
  /** Several, where it is a matter of the parser's taste and none does harm. */
  readonly answer: DocumentAnswer | readonly DocumentAnswer[];
}
