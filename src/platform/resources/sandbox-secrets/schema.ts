/** Secrets that a tenant gives the commands of its smiths. */
import type { Static } from 'typebox';
import { closedObject, component, missingFailsWith, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_NAME_LENGTH, MAX_VALUE_BYTES } from './limits.ts';

const name = Type.String({ description: 'The environment variable that holds the value in the box.' });

const SandboxSecret = component('SandboxSecret', Type.Object({ name, updated_at: timestamp() }));

/** A fixed-size list: bare `{data}`. */
export const SandboxSecretList = component('SandboxSecretList', Type.Object({ data: Type.Array(SandboxSecret) }));

export const SandboxSecretConfigured = component(
  'SandboxSecretConfigured',
  Type.Object({ name, configured: Type.Boolean() }),
);

export const SandboxSecretIn = component(
  'SandboxSecretIn',
  closedObject({
    value: Type.String({
      maxLength: MAX_VALUE_BYTES,
      description: `Never shown again. At most ${MAX_VALUE_BYTES} bytes in UTF-8, and no NUL.`,
      ...missingFailsWith('secret_required'),
    }),
  }),
);

export const SandboxSecretPath = Type.Object({
  name: Type.String({
    description: `A letter or \`_\`, then letters, digits and \`_\`; at most ${MAX_NAME_LENGTH} characters.`,
  }),
});

export type SandboxSecretList = Static<typeof SandboxSecretList>;
export type SandboxSecretConfigured = Static<typeof SandboxSecretConfigured>;
export type SandboxSecretIn = Static<typeof SandboxSecretIn>;
export type SandboxSecretPath = Static<typeof SandboxSecretPath>;
