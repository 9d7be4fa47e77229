/** What an operator can ask a service for, and what is answered: shapes that also travel over the operator's socket. */
import type { Static, TSchema } from 'typebox';
import { createValidators, type Validator } from '../http/validation.ts';

export type VerbTable = Readonly<Record<string, { readonly request: TSchema; readonly answer: TSchema }>>;
export type RequestOf<Table extends VerbTable, Verb extends keyof Table> = Static<Table[Verb]['request']>;
export type AnswerOf<Table extends VerbTable, Verb extends keyof Table> = Static<Table[Verb]['answer']>;

/** The verbs of one service, as both ends of the socket know them. */
export interface OperatorVerbs<Table extends VerbTable> {
  readonly service: string;
  readonly verbs: Table;
}

/** Each throws OperatorError for what the operator can correct. */
export type VerbHandlers<Table extends VerbTable> = {
  readonly [Verb in keyof Table]: (request: RequestOf<Table, Verb>) => Promise<AnswerOf<Table, Verb>>;
};

/** A service's verbs with what carries them out. */
export interface OperatedService {
  readonly service: string;
  readonly verbs: VerbTable;
  readonly handlers: Readonly<Record<string, (request: never) => Promise<unknown>>>;
}

/** A refusal for the operator to read; says what to do next. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

const validators = new Map<TSchema, Validator>();

export function matchesSchema(schema: TSchema, value: unknown): boolean {
  const validator = validators.get(schema) ?? createValidators(new Map()).compile('body', schema);
  validators.set(schema, validator);
  return validator(value);
}
