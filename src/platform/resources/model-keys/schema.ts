/** Keys of model providers: a tenant's own, and those that an end user brings for one smith. */
import type { Static } from 'typebox';
import { closedObject, component, missingFailsWith, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

/** Amazon's temporary credentials, the longest kind, take about 2,000 characters. */
const MAX_API_KEY_LENGTH = 16_384;
const MAX_BASE_URL_LENGTH = 2_048;

const provider = Type.String({ description: 'The part of a model id before the first slash: `openai`, `ollama`.' });

const addressFields = {
  base_url: nullable(Type.String(), { description: 'Null: the provider’s usual address.' }),
  workspace_id: nullable(Type.String()),
};

export const ModelKey = component(
  'ModelKey',
  Type.Object({ provider, ...addressFields, has_key: Type.Boolean(), updated_at: nullable(timestamp()) }),
);

/** A fixed-size list: bare `{data}`. */
export const ModelKeyList = component('ModelKeyList', Type.Object({ data: Type.Array(ModelKey) }));

export const ModelKeyConfigured = component(
  'ModelKeyConfigured',
  Type.Object({ provider, configured: Type.Boolean(), ...addressFields }),
);

export const ModelKeyIn = component(
  'ModelKeyIn',
  closedObject({
    api_key: Type.String({
      maxLength: MAX_API_KEY_LENGTH,
      description:
        'Never shown again. A server that asks for no key takes any text, such as `none`. For `bedrock`: a Bedrock API ' +
        'key, `ACCESS_KEY_ID:SECRET_ACCESS_KEY:REGION`, or JSON `{access_key_id, secret_access_key, session_token?, region}`.',
      ...missingFailsWith('empty_key'),
    }),
    base_url: Type.Optional(
      nullable(Type.String({ maxLength: MAX_BASE_URL_LENGTH }), {
        description:
          'Where the provider is called, without the operation’s path: `https://models.example.com/v1`. ' +
          'A public address, or one that the operator of the server has opened.',
      }),
    ),
    workspace_id: Type.Optional(
      // Sent as a header.
      nullable(Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' }), {
        description: 'The provider’s workspace or project to bill, where it has them.',
      }),
    ),
  }),
);

export const ProviderPath = Type.Object({ provider: Type.String() });
export const SmithPath = Type.Object({ sid: Type.String() });
export const SmithProviderPath = Type.Object({ sid: Type.String(), provider: Type.String() });

export type ModelKey = Static<typeof ModelKey>;
export type ModelKeyList = Static<typeof ModelKeyList>;
export type ModelKeyConfigured = Static<typeof ModelKeyConfigured>;
export type ModelKeyIn = Static<typeof ModelKeyIn>;
export type ProviderPath = Static<typeof ProviderPath>;
export type SmithPath = Static<typeof SmithPath>;
export type SmithProviderPath = Static<typeof SmithProviderPath>;
