/** Files and vector stores. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const knowledgeErrors = {
  file_already_attached: {
    status: 409,
    message:
      'This file is already in the vector store. Change its attributes with `POST /v1/vector_stores/{vsId}/files/{fid}`, or remove it first to index it anew.',
  },
} as const satisfies ErrorTexts;
