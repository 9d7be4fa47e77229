/** What every answer of RDAP has (RFC 9083, section 4), and its errors (section 6). */
import type { OperationErrorDialect } from '../../../kernel/http/operation-errors.ts';
import { RDAP_MEDIA_TYPE, rdapJson, type TextReply } from '../../../kernel/http/reply.ts';

/** RFC 9083, section 4.1; RFC 9537, section 4.1. */
const CONFORMANCE = ['rdap_level_0', 'redacted'] as const;
/** ICANN's response profile and technical guide of February 2024, which both call themselves 2.2. */
const PROFILE = ['icann_rdap_response_profile_1', 'icann_rdap_technical_implementation_guide_1'] as const;
/** Of data that a registry may change at any time. */
const CACHE = 'public, max-age=60';

/** Of a kind (`domain`), so that generated clients need no schema of their own: see the RFC. */
export function answer(content: object, { meetsProfile = false } = {}): TextReply {
  const rdapConformance = meetsProfile ? [...CONFORMANCE, ...PROFILE] : CONFORMANCE;
  return rdapJson({ rdapConformance, ...content }, { cacheControl: CACHE });
}

export function selfLink(address: string) {
  return { value: address, rel: 'self', href: address, type: RDAP_MEDIA_TYPE };
}

export const rdapErrors: OperationErrorDialect = {
  name: 'RdapError',
  mediaType: RDAP_MEDIA_TYPE,
  schema: {
    type: 'object',
    required: ['rdapConformance', 'errorCode', 'title', 'description'],
    properties: {
      rdapConformance: { type: 'array', items: { type: 'string' } },
      errorCode: { type: 'integer', description: 'The HTTP status.' },
      title: { type: 'string' },
      description: { type: 'array', items: { type: 'string' } },
    },
  },
  render({ code, message }, { status }) {
    const content = { rdapConformance: CONFORMANCE, errorCode: status, title: code, description: [message] };
    return rdapJson(content, { status });
  },
};
