import type { Static } from 'typebox';
import { closedObject, component, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { contactMembers } from '../accounts/index.ts';

const { organization, street, city, region, postal_code, country, phone } = contactMembers;

export const Registrant = component(
  'Registrant',
  Type.Object({
    name: Type.String(),
    email: Type.String({ description: 'The address that the workspace signed up with.' }),
    contact: Type.Object({
      organization: nullable(organization),
      street: nullable(street),
      city: nullable(city),
      region: nullable(region),
      postal_code: nullable(postal_code),
      country: nullable(country),
      phone: nullable(phone),
    }),
    missing: Type.Array(Type.String(), {
      description:
        'Members of `contact` that the registry requires and does not have yet: a registration is refused until then.',
    }),
  }),
);
export type Registrant = Static<typeof Registrant>;

export const RegistrantChange = component(
  'RegistrantChange',
  closedObject(
    {
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' })),
      contact: Type.Optional(
        closedObject(
          {
            organization: Type.Optional(nullable(organization)),
            street: Type.Optional(nullable(street)),
            city: Type.Optional(nullable(city)),
            region: Type.Optional(nullable(region)),
            postal_code: Type.Optional(nullable(postal_code)),
            country: Type.Optional(nullable(country)),
            phone: Type.Optional(nullable(phone)),
          },
          { minProperties: 1, description: 'What is absent stays as it is; null removes it.' },
        ),
      ),
    },
    { minProperties: 1 },
  ),
);
export type RegistrantChange = Static<typeof RegistrantChange>;
