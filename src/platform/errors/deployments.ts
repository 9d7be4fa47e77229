/** Deployments and hosted pages. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const deploymentErrors = {
  address_in_use: {
    status: 409,
    message: 'Another deployment has this address. Choose another address, or delete that deployment first.',
  },
  catch_all_exists: {
    status: 409,
    message: 'There is already a catch-all deployment. Give this one an address of its own, or delete the other first.',
  },
  handle_unavailable: {
    status: 409,
    message: 'This handle is taken. Choose another.',
  },
  address_required: {
    status: 422,
    message: 'A deployment of this kind needs an address. Send `address`.',
  },
  invalid_address: {
    status: 422,
    message:
      'The address is not valid for this kind of channel. Send a full phone number, a mail address or a channel id, as the kind requires.',
  },
  display_name_required: {
    status: 422,
    message: 'A deployment of this kind is shown to people under a name. Send `display_name`.',
  },
  rename_unsupported: {
    status: 422,
    message:
      'A deployment of this kind cannot be renamed here. Change the name at the provider, or create a new deployment.',
  },
  target_not_supported: {
    status: 422,
    message: 'This kind of channel cannot reach a target of this type. Choose another `target.type` or another `kind`.',
  },
  setup_unsupported: {
    status: 422,
    message: 'A deployment of this kind takes no `setup`. Leave it out.',
  },
  invalid_setup: {
    status: 422,
    message: 'The `setup` is not valid for this kind of channel. Send the members that this kind documents.',
  },
  agent_target_no_setup: {
    status: 422,
    message: '`setup` binds one smith, and this deployment targets an agent. Leave `setup` out, or target a smith.',
  },
  mcp_no_setup: {
    status: 422,
    message: 'An MCP deployment has nothing to set up. Leave `setup` out.',
  },
  web_no_setup: {
    status: 422,
    message: 'A hosted page has nothing to set up. Leave `setup` out.',
  },
  password_required: {
    status: 401,
    message:
      "This page is protected, and the request carries no password or a wrong one. Send the page's password in `password`.",
  },
} as const satisfies ErrorTexts;
