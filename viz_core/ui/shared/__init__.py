"""What several pages share: elements, the cell inspector, example sentences, and notes on untranslated words."""
