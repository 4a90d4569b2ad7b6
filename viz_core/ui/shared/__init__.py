"""What several pages share: elements, the cell inspector, and controls of their sentences."""
