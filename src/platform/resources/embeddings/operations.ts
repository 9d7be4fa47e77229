import { project } from '../../access/operation.ts';
import { createEmbedding, type EmbeddingDependencies } from './create-embedding.ts';
import { EmbeddingIn, EmbeddingList } from './schema.ts';

export function embeddingOperations(deps: EmbeddingDependencies) {
  return [
    // It changes nothing, so that a repeated call needs no Idempotency-Key.
    project.read({
      id: 'embeddings.create',
      method: 'POST',
      path: '/v1/embeddings',
      posture: 'any',
      scope: 'embeddings:write',
      summary: 'Turn text into vectors, in the OpenAI dialect',
      description:
        'Vectors have unit length, and the same text always has the same one. `builtin/embed` runs on this server, ' +
        'without a key: 512 dimensions, English; it reads sentence by sentence, and the vector of a long text is the ' +
        'mean of its sentences. Every other model is reached with the key of its provider: a smith token uses the ' +
        'smith’s own key before the tenant’s. Members that are not listed are ignored.',
      body: EmbeddingIn,
      example: { input: 'Where does the river rise?' },
      reply: EmbeddingList,
      errors: [
        'invalid_input',
        'too_many_inputs',
        'embedding_unavailable',
        'budget_exceeded',
        'model_key_missing',
        'bedrock_unconfigured',
        'unknown_provider',
        'service_overloaded',
      ],
      handler: createEmbedding(deps),
    }),
  ];
}
