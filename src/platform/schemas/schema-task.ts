/** The work on foreign schemas that a child process does, as the parent asks for it. Schemas travel as JSON text. */
import type { SchemaProblem } from './schema-problem.ts';

export type SchemaTask =
  | { readonly kind: 'compile'; readonly schema: string }
  | { readonly kind: 'validate'; readonly schema: string; readonly answer: string }
  | {
      readonly kind: 'instance';
      readonly schema: string;
      /** For strings that the schema leaves free. */
      readonly text: string;
      /** Whether what is made is checked by the whole schema, and made otherwise where it does not pass. */
      readonly isChecked: boolean;
    };

export type TaskResult =
  | { readonly kind: 'compiled'; readonly problem?: SchemaProblem }
  | { readonly kind: 'validated'; readonly problem?: string }
  | { readonly kind: 'made'; readonly json: string };
