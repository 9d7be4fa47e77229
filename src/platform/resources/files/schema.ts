/** A file: bytes that a caller uploaded, or that came inside a conversation, under a name and a purpose. */
import type { Static } from 'typebox';
import { openAiPageQuery } from '../../../kernel/http/openai-paging.ts';
import { component, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_PURPOSE_LENGTH = 64;

const purpose = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$',
  maxLength: MAX_PURPOSE_LENGTH,
  description:
    'What the file is for: `assistants`, `user_data`, `vision`, `batch`, `fine-tune`, `evals`, or a word of yours.',
});

export const DEFAULT_PURPOSE = 'user_data';

/** Beside the file itself. Members that are not listed are ignored: clients of the dialect send more. */
export const FileFields = Type.Object({
  purpose: Type.Optional({ ...purpose, default: DEFAULT_PURPOSE }),
  'expires_after[anchor]': Type.Optional(
    Type.String({ maxLength: 32, description: '`created_at`: the file ends by itself.' }),
  ),
  'expires_after[seconds]': Type.Optional(
    Type.String({ maxLength: 32, description: 'Its lifetime: 3600 to 2592000.' }),
  ),
  'expires_after[days]': Type.Optional(Type.String({ maxLength: 32, description: 'In place of seconds: 1 to 30.' })),
});

export const File = component(
  'File',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('file'),
    bytes: Type.Integer({ description: 'Size of the content.' }),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    expires_at: Type.Optional(
      Type.Integer({ description: 'When it ends by itself; absent where it stays. Unix seconds.' }),
    ),
    filename: Type.String(),
    purpose: Type.String(),
    status: Type.Literal('processed'),
    status_details: nullable(Type.Unsafe<null>({ type: 'string' })),
  }),
);

export const FilePath = Type.Object({ fid: Type.String() });

export const FileListQuery = Type.Object({
  ...openAiPageQuery,
  purpose: Type.Optional(Type.String({ maxLength: MAX_PURPOSE_LENGTH, description: 'Files of this purpose only.' })),
});

export type File = Static<typeof File>;
export type FileFields = Static<typeof FileFields>;
export type FileListQuery = Static<typeof FileListQuery>;
export type FilePath = Static<typeof FilePath>;
