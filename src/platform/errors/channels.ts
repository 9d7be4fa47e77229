/**
 * Channels: inbound calls of the providers. 401 where the sender is not proven. The text does not say how the check
 * failed.
 */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const channelErrors = {
  missing_signature: {
    status: 401,
    message: "The call carries no signature. Sign it as the channel's provider does.",
  },
  bad_signature: {
    status: 401,
    message:
      "The signature does not match the body or is too old. Check the signing secret or public key in the channel's setup.",
  },
  bad_inbound_secret: {
    status: 401,
    message: "The shared secret of this call is wrong. Set the same secret at the sender and in the channel's setup.",
  },
  bad_webhook_secret: {
    status: 401,
    message:
      "The webhook secret of this call is wrong. Save the channel's setup again to register the webhook with a new secret.",
  },
  verification_failed: {
    status: 403,
    message: "The verification token does not match. Enter the same token at the provider and in the channel's setup.",
  },
} as const satisfies ErrorTexts;
