import { nameScenarios, testScenarios } from './domains-scenarios.ts';

testScenarios(nameScenarios);
