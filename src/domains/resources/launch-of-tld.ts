/** What customers read of the launch of a TLD. */
import { component, oneOf } from '../../kernel/http/schema.ts';
import { Type } from '../../kernel/http/type-builder.ts';
import { LAUNCH_PHASES } from '../registry/registry.ts';

export const LaunchOfTld = component(
  'LaunchOfTld',
  Type.Object(
    {
      phase: oneOf(LAUNCH_PHASES),
      name: Type.Optional(Type.String({ description: 'Of a custom phase, or a part of another one.' })),
      applications: Type.Boolean({
        description:
          'Names are applied for: an order is `Pending` until the registry decides, for months it may be, and fails where another has the ' +
          'name.',
      }),
    },
    {
      description: 'Beyond the contract: the phase of the launch that the TLD is in (RFC 8334); absent: it is in none.',
    },
  ),
);
