/** The request as a whole. Values that do not validate are 422, malformed JSON included. Unknown routes are not_found. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const requestErrors = {
  invalid_request: {
    status: 422,
    message:
      'The request does not validate. Correct the field named in `param`, or the body as a whole if none is named, and send it again.',
  },
  unsupported_api_version: {
    status: 400,
    message:
      'The version in `IC-Api-Version` is not served. Send a live version, or leave the header out to get the latest.',
  },
  not_found: {
    status: 404,
    message:
      'Nothing with this address is visible to this token. Check the path and the id, and that the token belongs to the right project.',
  },
  payload_too_large: {
    status: 413,
    message: 'The body is larger than this operation accepts. Send less, or split it into several requests.',
  },
  unsupported: {
    status: 422,
    message:
      'The request is well formed but asks for something that is not offered here. Leave out the member named in `param`, or use another operation.',
  },
  invalid_cursor: {
    status: 422,
    message:
      'The cursor is not one that this list issued. Pass `next_cursor` back unchanged, or leave `cursor` out to start at the first page.',
  },
  invalid_limit: {
    status: 422,
    message: 'The limit is outside the accepted range. Send a number within the range documented for this operation.',
  },
  invalid_name: {
    status: 422,
    message: 'The name is empty, too long, or contains characters that are not allowed. Choose another name.',
  },
  name_required: {
    status: 422,
    message: 'This object needs a name. Send a `name` that is not empty.',
  },
  invalid_slug: {
    status: 422,
    message: 'The slug may contain lowercase letters, digits and hyphens only. Correct it, or leave `slug` out.',
  },
  invalid_url: {
    status: 422,
    message:
      'The URL must be `https` and its host must resolve to public addresses only. Use an address that is reachable from the internet.',
  },
  url_required: {
    status: 422,
    message:
      'An address to call is needed. Send `url`; for an MCP server, `catalog` with the slug of a catalog entry will do instead.',
  },
  empty_patch: {
    status: 422,
    message: 'The body changes nothing. Send at least one field to change.',
  },
  nothing_to_update: {
    status: 422,
    message:
      "None of the fields in the body can be changed on this object. Send at least one that can, as the operation's schema lists them.",
  },
  invalid_state: {
    status: 409,
    message:
      'This step does not fit the present state: the sign-in has been used or has expired, or the object has moved on. Start the sign-in again, or read the object and go on from its present status.',
  },
} as const satisfies ErrorTexts;
